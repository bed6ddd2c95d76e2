"""Takes secrets out of text before it leaves the host: the same rules as core/masking.

A test compares the patterns of both and what they do.
"""

import re

MASK = "\u2026"

_NAME = re.compile(
    r"(?:^|[-_.])(?:api[-_]?key|key|token|secret|pass(?:word|wd|phrase)?|pwd|credentials?|auth"
    r"|bearer|cookie|apikey|passwords|secrets)$",
    re.IGNORECASE,
)
_PUBLIC = re.compile(r"(?:^|[-_.])(?:public|ssh|host|sort|foreign|primary|partition)[-_.]?key$")
_URL = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s/:@]*):[^\s/@]+@", re.IGNORECASE)
_TOKEN = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{8,}|sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{8,}|github_pat_\w{8,}"
    r"|xox[abprs]-[\w-]{8,}|AKIA[0-9A-Z]{12,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]+)"
)
_HEADER = re.compile(r"\b(authorization:\s*(?:bearer|basic)?\s*)\S+", re.IGNORECASE)
_VARIABLE = re.compile(
    r"(?:^|[-_.])(?:tokens?|secrets?|passwords?|passwd|passphrase|credentials?|apikeys?|private"
    r"|cookies?)(?:[-_.]|$)",
    re.IGNORECASE,
)
_ARMOUR = re.compile(r"-----BEGIN [A-Z ]*(?:PRIVATE|SECRET)")


def masked_variable(name, value):
    """Return the value of an environment variable, or a mask where it looks like a secret."""
    if name == "PWD":  # a folder
        return value
    if is_secret(name) or _VARIABLE.search(name) or _ARMOUR.search(value):
        return MASK if value else value
    return masked_text(value)


def masked_text(text):
    """Return text without passwords in URLs, bearer headers and tokens of well-known shapes."""
    text = _URL.sub(r"\1:%s@" % MASK, text)
    text = _HEADER.sub(r"\1%s" % MASK, text)
    return _TOKEN.sub(MASK, text)


def is_secret(name):
    """Tell whether what has such a name is a secret."""
    bare = name.lstrip("-")
    return _NAME.search(bare) is not None and _PUBLIC.search(bare.lower()) is None
