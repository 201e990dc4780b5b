"""A reverse proxy as a WSGI application, for tests of the site below a path."""

from werkzeug.wrappers import Response

PREFIX = "/kb"


class Proxy:
    """A reverse proxy in front of a WSGI application: of its host it gives the paths below `/kb` to the application, and 404 for all others.

    It tells the application what reverse proxies tell (`X-Forwarded-…`), under a host name of its own.
    """

    def __init__(self, app, *, cuts, tells_prefix):
        self.app, self.cuts, self.tells_prefix = app, cuts, tells_prefix

    def __call__(self, environ, start_response):
        path = environ["PATH_INFO"]
        if path != PREFIX and not path.startswith(f"{PREFIX}/"):
            return Response("not kb's", 404)(environ, start_response)
        upstream = dict(environ)
        upstream["HTTP_HOST"], upstream["REMOTE_ADDR"], upstream["wsgi.url_scheme"] = (
            "10.0.0.7:8000",
            "10.0.0.1",
            "http",
        )
        upstream["HTTP_X_FORWARDED_FOR"] = environ.get("REMOTE_ADDR", "192.0.2.1")
        upstream["HTTP_X_FORWARDED_HOST"], upstream["HTTP_X_FORWARDED_PROTO"] = (
            environ["HTTP_HOST"],
            environ["wsgi.url_scheme"],
        )
        if self.cuts:
            upstream["PATH_INFO"] = path.removeprefix(PREFIX) or "/"
        if self.tells_prefix:
            upstream["HTTP_X_FORWARDED_PREFIX"] = PREFIX
        return self.app(upstream, start_response)
