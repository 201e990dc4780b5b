"""A WSGI application on a loopback port, in a thread of the tests' process."""

import contextlib
import threading

from werkzeug.serving import make_server


@contextlib.contextmanager
def served(app):
    """Serve the application while the block runs; yield its address."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(10)
    server.server_close()
