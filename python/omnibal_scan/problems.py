# SPDX-License-Identifier: Apache-2.0
"""What can be wrong: with one row (it is rejected, with a reason), or with the input as a whole."""


class Rejected(Exception):
    """One row that is left out. `reason` is a fixed word, `detail` says it to a person."""

    def __init__(self, reason, detail, value=None, limit=None):
        super().__init__(detail)
        self.reason, self.detail, self.value, self.limit = reason, detail, value, limit


class BadInput(Exception):
    """What stops the command. `code` and the rest as in an error of `omnibal`."""

    def __init__(self, code, message, file=None, row=None, key=None, value=None, limit=None, hint=None):
        super().__init__(message)
        self.code, self.message, self.value, self.limit, self.hint = code, message, value, limit, hint
        self.where = {name: part for name, part in (("file", file), ("row", row), ("key", key))
                      if part is not None}

    def to_json(self):
        error = {"code": self.code, "message": self.message, "where": self.where, "value": self.value,
                 "limit": self.limit, "hint": self.hint}
        return {"error": {key: part for key, part in error.items() if part is not None}}

    def to_text(self):
        lines = [f"error: {self.message}"]
        if self.where:
            lines.append("  where: " + ", ".join(f"{key} {part}" if key != "file" else str(part)
                                                 for key, part in self.where.items()))
        for name, part in (("value", self.value), ("limit", self.limit), ("next", self.hint)):
            if part is not None:
                lines.append(f"  {name}: {part}")
        return "\n".join(lines)
