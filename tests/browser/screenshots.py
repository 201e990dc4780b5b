"""Take the pictures of the page that the documentation shows, from the entries as they are: python tests/browser/screenshots.py"""

import shutil
import threading
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from werkzeug.serving import make_server

from webapp import create_app

DOCS = Path(__file__).parent.parent.parent / "docs"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
PASTE = """Epoch 1:  97%|█████████▋| 32/33 [00:04<00:00,  7.61it/s]
Traceback (most recent call last):
  File "/home/me/train.py", line 52, in <module>
    main()
  File "/home/me/train.py", line 41, in main
    logits = model(images)
  File "/opt/lib/python3.12/site-packages/torch/nn/modules/module.py", line 1776, in _call_impl
    return forward_call(*args, **kwargs)
ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 512])
"""
UNKNOWN = """Traceback (most recent call last):
  File "/home/me/train.py", line 7, in <module>
    sample = table[key]
KeyError: 'user_id'
"""
TWO_DEVICES = """Traceback (most recent call last):
  File "/home/me/train.py", line 41, in main
    logits = model(images)
RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cuda:1!
"""
PICTURES = {
    "page-causes": (TWO_DEVICES, {"locale": "en-US", "color_scheme": "light"}, 1280),
    "page": (PASTE, {"locale": "en-US", "color_scheme": "light"}, 1280),
    "page-dark": (PASTE, {"locale": "en-US", "color_scheme": "dark"}, 1280),
    "page-chinese": (PASTE, {"locale": "zh-CN", "color_scheme": "light"}, 1280),
    "page-phone": (PASTE, {"locale": "zh-CN", "color_scheme": "dark"}, 390),
    "page-no-answer": (UNKNOWN, {"locale": "en-US", "color_scheme": "light"}, 1280),
    "page-first": ("", {"locale": "en-US", "color_scheme": "light"}, 1280),
}


def take(browser: Browser, address: str, name: str, paste: str, options: dict, width: int) -> None:
    """Paste, wait for the answer, and save the whole page."""
    context = browser.new_context(viewport={"width": width, "height": 800}, reduced_motion="reduce", **options)
    page = context.new_page()
    page.goto(address)
    if paste:
        page.fill("#text", paste)
        page.keyboard.press("Control+Enter")
        page.locator("#answer .found").wait_for()
    page.evaluate("() => { document.activeElement.blur(); scrollTo({ top: 0, behavior: 'instant' }); }")
    page.screenshot(path=DOCS / f"{name}.png", full_page=True)
    context.close()


def main() -> None:
    """Serve the page on loopback and take every picture."""
    server = make_server("127.0.0.1", 0, create_app({"RATE": "", "LOG": "off"}), threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for name, (paste, options, width) in PICTURES.items():
            take(browser, f"http://127.0.0.1:{server.server_port}/", name, paste, options, width)
        browser.close()
    server.shutdown()


if __name__ == "__main__":
    main()
