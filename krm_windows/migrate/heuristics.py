"""What text looks as if it suspended or resumed something: a first look, before a closer one."""

import re

# In bytes, for whole files: any word of those below.
_QUICK = re.compile(
    rb"suspend|resume|paused|toolkit\.fluxcd\.io/reconcile|(?:kustomize|helm|source)-controller"
)
# The words that a command, a patch or a call of the API has for it, and what Flux is known by.
_VERB = re.compile(r"\b(?:suspend|unsuspend|resume|paused)\b")
_ABOUT = re.compile(r"\b(?:flux|gotk|kubectl|kustomizations?|helmreleases?)\b|toolkit\.fluxcd\.io")
# On one line, `flux suspend` and `kubectl patch`; what a patch is about may be on any other one.
_FLUX = re.compile(r"\b(?:flux|gotk)\b")
_FLUX_VERB = re.compile(r"\b(?:suspend|resume)\b")
_KUBECTL = re.compile(r"\bkubectl\b")
_PATCH = re.compile(r"\bpatch\b")
_CURL = re.compile(r"\bcurl\b")
_FIELD = re.compile(r"\b(?:suspend|paused)\b")
# Two other ways to hold Flux back: its controllers are scaled down, or objects are taken out of
# its hands (`kustomize.toolkit.fluxcd.io/reconcile: disabled`).
_SCALE = re.compile(r"\bscale\b")
_CONTROLLER = re.compile(r"\b(?:kustomize|helm|source)-controller\b")
_DISABLED = re.compile(r"toolkit\.fluxcd\.io/reconcile['\"]?[=:]\s*['\"]?(?:disabled|enabled)")


def may_suspend(content: bytes) -> bool:
    """Whether a file has any of the words, so that it is worth reading."""
    return _QUICK.search(content) is not None


def has_job(content: bytes) -> bool:
    """Whether a file may hold a CronJob that makes windows, or a patch of one."""
    return b"CronJob" in content and may_suspend(content)


def mentions(script: str) -> bool:
    """Whether what a CronJob runs has to do with suspending: it is to be understood, or named."""
    return _holds_back(script) or bool(_VERB.search(script) and _ABOUT.search(script))


def is_script(text: str) -> bool:
    """Whether a text is a script that suspends or resumes, and does not just mention it."""
    lines = text.splitlines()
    if _holds_back(text) or any(_follows(line, _FLUX, _FLUX_VERB) for line in lines):
        return True
    calls = _CURL.search(text) and _ABOUT.search(text)
    patches = calls or any(_follows(line, _KUBECTL, _PATCH) for line in lines)
    return bool(patches and _FIELD.search(text))


def _follows(line: str, program: re.Pattern[str], verb: re.Pattern[str]) -> bool:
    found = program.search(line)
    return found is not None and verb.search(line, found.end()) is not None


def _holds_back(script: str) -> bool:
    """Whether a text scales the controllers of Flux, or takes objects out of their hands."""
    if _DISABLED.search(script):
        return True
    return bool(_SCALE.search(script) and _CONTROLLER.search(script))
