"""Sentences about what is loaded: weights, architectures, builds, the hub."""

from __future__ import annotations

import posixpath
import re

from gpudash.core.startup.model import Number
from gpudash.core.startup.reading import Frame, Hit, Run
from gpudash.core.startup.wording import Told, aside, clipped, when

_LIBRARY = re.compile(r"(?:.*/)?(?:site|dist)-packages/")
_LIBRARY_FRAMES = ("torch/", "transformers/", "multiprocessing/", "importlib/", "concurrent/")
_SHARED_OBJECT = re.compile(r"(\S+\.so[\w.]*)")
_REPO = re.compile(r"(?:huggingface\.co/(?:api/models/)?|Access to model )([\w.-]+/[\w.-]+)")


def shape_mismatch(run: Run, hit: Hit) -> Told:
    """Say which weights don't fit, and where: a bare assertion has only its source line."""
    whose = "draft model weights" if hit.phase == "load_draft" else "weights"
    exception = next((h.line for h in run.hits if h.is_exception and h.line > hit.line), None)
    details: dict[str, Number | None] = {
        "exception_line": exception,
        "during": hit.phase,
    }
    found = hit.groups
    if check := found.get("check"):
        last = hit.frames[-1] if hit.frames else None
        at = f" at {posixpath.basename(last.path)}:{last.number}" if last else ""
        inside = _of_model(hit.frames)
        where = f" in {inside}" if inside else ""
        return Told(
            message=f'{whose} do not fit: AssertionError{at} "{check}"{where}', details=details
        )
    if key := found.get("key"):
        return Told(message=f"{whose} do not fit: size mismatch for {key}", details=details)
    if "a" in found:
        return Told(
            message=f"{whose} do not fit: {found['a']} into a parameter of {found['b']}",
            details=details,
        )
    if "sa" in found:
        return Told(
            message=f"{whose} do not fit: a tensor of {found['sa']} meets one of {found['sb']}"
            f"{when(hit.phase)}",
            details=details,
        )
    return Told(message=clipped(_without_exception(found.get("text", hit.text))), details=details)


def _of_model(frames: tuple[Frame, ...]) -> str:
    """Return `llama_eagle3.load_weights`: the model's own code, not the loader's."""
    for frame in reversed(frames):
        if "/models/" in frame.path:
            return _named(frame)
    own = [f for f in frames if not _LIBRARY.sub("", f.path).startswith(_LIBRARY_FRAMES)]
    return _named(own[-1]) if own else ""


def _named(frame: Frame) -> str:
    return f"{posixpath.basename(frame.path).removesuffix('.py')}.{frame.function}"


def missing_key(_run: Run, hit: Hit) -> Told:
    """Say which tensor has no place, or which place no tensor."""
    found = hit.groups
    key = found.get("key") or found.get("keys") or found.get("name") or ""
    whose = "the draft" if hit.phase == "load_draft" else "the model"
    what = (
        "was not in the checkpoint"
        if found.get("what") == "Missing" or "keys" in found
        else (f"has no place in {whose}")
    )
    return Told(message=f"weights do not fit: {clipped(key) or 'a tensor'} {what}")


def unsupported_arch(run: Run, hit: Hit) -> Told:
    """Say which architecture this engine does not know."""
    found = hit.groups
    names = re.findall(r"\w+", found.get("arch", ""))
    name = ", ".join(names) or found.get("a2") or found.get("a3") or found.get("a4") or ""
    what = f"architecture {name}" if name else "the model's architecture"
    version = f" {run.version}" if run.version else ""
    return Told(message=f"{what} is not supported by this {_engine(run)}{version}")


def unsupported_gpu(_run: Run, hit: Hit) -> Told:
    """Say what this GPU can't do."""
    found = hit.groups
    if quant := found.get("quant"):
        return Told(
            message=f"quantization {quant} needs compute capability {found['cap']} or more; this "
            "GPU has less"
        )
    return Told(
        message=f"this build does not support this GPU: {clipped(_without_exception(hit.text))}"
    )


def import_error(run: Run, hit: Hit) -> Told:
    """Say what could not be imported, and what that made impossible."""
    found = hit.groups
    text = found.get("text", hit.text)
    reason = clipped(text)
    if "undefined symbol" in text and (library := _SHARED_OBJECT.search(text)):
        short = "/".join(library[1].rstrip(":").split("/")[-2:])
        built = f"torch/{short.split('/')[0]}" if "/" in short else "binary"
        reason = f"undefined symbol in {short} ({built} build mismatch)"
    names = re.findall(r"\w+", found.get("masked", ""))
    if not names:
        return Told(message=f"{found.get('exc', 'ImportError')}: {reason}{aside(hit.phase)}")
    return Told(
        message=f"{_engine(run)} could not inspect {names[0]}: {found.get('exc', 'ImportError')} "
        f'{reason}; the later "architectures not supported" is a consequence',
        details={"exception_line": int(found["masked_line"])},
    )


def hf_auth(run: Run, hit: Hit) -> Told:
    """Say whose licence or token is missing."""
    code = hit.groups.get("code", "401")
    later = [h for h in run.hits if h.kind == "hf_auth"]
    texts = [h.text for h in later]
    repo = next((match[1] for text in texts if (match := _REPO.search(text))), "")
    gated = any("gated" in text.lower() for text in texts)
    what = repo or "the repository"
    if gated:
        return Told(
            message=f"Hugging Face {code}: {what} is gated (accept the licence and set HF_TOKEN)",
            details={
                "better_text_line": next(
                    (h.line for h in later if "gated" in h.text.lower() and h.line > hit.line), None
                )
            },
        )
    return Told(
        message=f"Hugging Face {code}: no access to {what} (token missing, wrong or without rights)"
    )


def hf_not_found(_run: Run, hit: Hit) -> Told:
    """Say what is not there."""
    found = hit.groups
    if file := found.get("file"):
        return Told(message=f"{found.get('where', 'the model')} has no file {file.rstrip('.')}")
    if model := found.get("model"):
        return Told(
            message=f"{model.strip(chr(39))} is neither a local folder nor a model on Hugging Face"
        )
    repo = found.get("repo")
    return Told(message=f"not found on Hugging Face: {repo}" if repo else clipped(hit.text))


def hf_network(_run: Run, hit: Hit) -> Told:
    """Say that the hub was not reached."""
    return Told(message=f"Hugging Face could not be reached{when(hit.phase)}: {clipped(hit.text)}")


def corrupt_file(_run: Run, hit: Hit) -> Told:
    """Say that a weight file is cut or something else."""
    return Told(message=f"a weight file is damaged{when(hit.phase)}: {clipped(hit.groups['text'])}")


def file_not_found(_run: Run, hit: Hit) -> Told:
    """Say which file is missing."""
    found = hit.groups
    if path := found.get("path5"):
        return Told(message=f"no weights in {path}")
    path = next((found[name] for name in ("path", "path2", "path3", "path4") if name in found), "")
    return Told(message=f"no such file: {path}{when(hit.phase)}" if path else clipped(hit.text))


def triton_resource(_run: Run, hit: Hit) -> Told:
    """Say what a kernel wants and this GPU has."""
    return Told(
        message=f"a Triton kernel needs {hit.groups['need']} bytes of shared memory, this GPU has "
        f"{hit.groups['limit']}{when(hit.phase)}"
    )


def exception(_run: Run, hit: Hit) -> Told:
    """Quote an exception; one without words is shown by its last line of code."""
    found = hit.groups
    name = found.get("exc", "Exception").rpartition(".")[2]
    if name == "KeyboardInterrupt":
        return Told(message="interrupted (KeyboardInterrupt)")
    if said := found.get("msg"):
        return Told(message=f"{name}: {clipped(said)}{aside(hit.phase)}")
    last = hit.frames[-1] if hit.frames else None
    if last is None:
        return Told(message=f"{name}{when(hit.phase)}")
    source = f' "{clipped(last.source)}"' if last.source else ""
    inside = _of_model(hit.frames)
    where = f" in {inside}" if inside else ""
    return Told(
        message=f"{name} at {posixpath.basename(last.path)}:{last.number}{source}{where}"
        f"{when(hit.phase)}"
    )


def _engine(run: Run) -> str:
    return {"vllm": "vLLM", "sglang": "SGLang", "tgi": "TGI"}.get(
        run.engine or "", run.engine or "engine"
    )


def _without_exception(text: str) -> str:
    return re.sub(r"^\s*(?:[\w.]+(?:Error|Exception)): ", "", text)
