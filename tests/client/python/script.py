"""Programs of tests, played by shell scripts."""

import os
from unittest import mock


def use_script(test, name, variable, *lines):
    """Lets `variable` of the environment name a script of these lines, which keeps its arguments, for this test."""
    path = test.folder / name
    path.write_text("\n".join(["#!/bin/sh", f'echo "$@" >>{test.folder}/arguments', *lines, ""]))
    path.chmod(0o755)
    test.enterContext(mock.patch.dict(os.environ, {variable: str(path)}))
