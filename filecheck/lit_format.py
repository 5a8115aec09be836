"""lit's shell tests, in folders of any name."""

from __future__ import annotations

import shlex
from pathlib import Path

import lit.formats
import lit.TestRunner


class QuotedShTest(lit.formats.ShTest):
    """`%s`, `%S` and `%t` may hold spaces; lit itself inserts paths unquoted."""

    def execute(self, test, litConfig):
        path = Path(test.getSourcePath())
        scratch = lit.TestRunner.getTempPaths(test)[1] + ".tmp"
        named = {"%s": str(path), "%S": str(path.parent), "%t": scratch}
        paths = [(rf"{word}\b", shlex.quote(name)) for word, name in named.items()]
        return lit.TestRunner.executeShTest(test, litConfig, self.execute_external, paths)
