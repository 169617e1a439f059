"""Programs of tests, played by shell scripts."""

import os
from unittest import mock


def use_script(test, name, variable, *lines):
    """Lets the environment's `variable` name a script of these lines, which keeps its arguments, until the test ends."""
    path = test.folder / name
    path.write_text("\n".join(["#!/bin/sh", f'echo "$@" >>{test.folder}/arguments', *lines, ""]))
    path.chmod(0o755)
    test.enterContext(mock.patch.dict(os.environ, {variable: str(path)}))
