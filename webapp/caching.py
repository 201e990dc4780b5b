"""What a browser may keep, how it learns that nothing has changed, and compression."""

from __future__ import annotations

from flask import Flask, Response, request
from flask_compress import Compress

from webapp.i18n import HTML_LANG, current_language

__all__ = ["init_app", "revalidated_page"]

_ALGORITHMS = ("br", "gzip")


def init_app(app: Flask) -> None:
    """Compress responses and answer conditional requests."""
    app.config["COMPRESS_REGISTER"] = app.config["COMPRESS_EVALUATE_CONDITIONAL_REQUEST"] = False
    compressors = {algorithm: _compressor(app, algorithm) for algorithm in _ALGORITHMS}

    def finish(response: Response) -> Response:
        cacheable = (
            response.status_code == 200
            and not response.is_streamed
            and not {"no-store", "private"} & set(response.cache_control)
        )
        if cacheable:
            response.add_etag()
        response = _compress(response, compressors)
        if cacheable:
            response.make_conditional(request)
        return response

    app.after_request(finish)


def revalidated_page(html: str) -> Response:
    """Return a page that a browser may keep if it asks each time whether it is still the same."""
    response = Response(html, mimetype="text/html")
    response.cache_control.public = True
    response.cache_control.no_cache = True
    response.content_language.add(HTML_LANG[current_language()])
    response.vary.add("Accept-Language")
    return response


def _compressor(app: Flask, algorithm: str) -> Compress:
    compressor = Compress(app)
    compressor.enabled_algorithms = (algorithm,)
    return compressor


def _compress(response: Response, compressors: dict[str, Compress]) -> Response:
    """Compress with the algorithm that Werkzeug negotiates, because Flask-Compress 1.25 sends gzip for `gzip;q=0`."""
    response.vary.add("Accept-Encoding")
    algorithm = request.accept_encodings.best_match(_ALGORITHMS)
    return compressors[algorithm].after_request(response) if algorithm else response
