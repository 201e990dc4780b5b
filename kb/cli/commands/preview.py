"""kb preview: the entry being written, as its page will look, in the browser."""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

from kb.cli.common import Failure, add_backend_option, make_parser
from kb.corpus.files import entry_files, named_path
from kb.corpus.loader import entry_folders


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parser = make_parser(
        "preview",
        "Serve the entry being written as its page will look, with its faults and its last run beside it.",
        "The page follows the file; r runs its programs in the sandbox. Ctrl+C ends it.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the entry's Markdown file, <topic>/<slug>.md")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8001, help="the port (default 8001; 0 takes a free one)")
    add_backend_option(parser)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    if not arguments.file.is_file():
        raise Failure(f"{arguments.file}: there is no such file; kb new begins an entry", 2)
    path = named_path(arguments.file)
    home = path.parent.parent
    if path not in entry_files(home):
        raise Failure(f"{arguments.file}: an entry's file is <folder of entries>/<topic>/<slug>.md", 2)
    try:
        from webapp.preview_app import create_preview, make_preview_server
        from webapp.server import ServeError
        from webapp.settings import SettingError
    except ModuleNotFoundError as error:
        raise Failure(f"the page needs {error.name}: pip install 'kb-torch[web]'") from error
    from kb.authoring.live_preview import Preview

    known = entry_folders()
    folders = known if home in (folder.resolve() for folder in known) else (*known, home)
    preview = Preview(path, folders, backend=arguments.backend)
    try:
        app = create_preview(preview, (arguments.host, "localhost", "[::1]"))
        serving = make_preview_server(app, arguments.host, arguments.port)
    except (ServeError, SettingError) as error:
        raise Failure(str(error)) from error
    preview.look()
    host = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        print(f"http://{host}:{serving.server_port}/ shows {arguments.file}; Ctrl+C ends it", flush=True)
        serving.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        preview.close()
        serving.server_close()
    return 0
