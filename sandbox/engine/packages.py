"""Print the packages of the interpreter that runs this, one `name==version` in a line: `docker run --rm -i kb-sandbox - < packages.py`."""

from importlib.metadata import distributions

print(*sorted(f"{package.name}=={package.version}" for package in distributions()), sep="\n")
