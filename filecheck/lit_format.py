"""lit's shell tests, in folders of any name."""

from __future__ import annotations

import shlex
from pathlib import Path

import lit.formats
import lit.TestRunner


class QuotedShTest(lit.formats.ShTest):
    """`%s` and `%S` may hold spaces; lit itself inserts paths unquoted."""

    def execute(self, test, litConfig):
        path = Path(test.getSourcePath())
        paths = [(r"%s\b", shlex.quote(str(path))), (r"%S\b", shlex.quote(str(path.parent)))]
        return lit.TestRunner.executeShTest(test, litConfig, self.execute_external, paths)
