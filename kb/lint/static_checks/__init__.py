"""Static checks of an entry's programs, for `kb check` and `kb verify` alike: which of them could only look as if it proved something.

A program is judged by how it runs, in its own process. So a program must not reach into the interpreter that runs it, raise or print the error that it
is about, hide a warning, or assert what always holds. These checks read its syntax tree with aliases resolved. What no tree shows is refused as such:
attributes with computed names, code from text, modules that kb does not know. docs/attacks.md lists the forgeries that they were tried against.
"""
