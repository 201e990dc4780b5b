"""The packages that the record covers: how each is imported and which of its releases count as minor releases."""

from __future__ import annotations

from kb.startup.named_tuple import NamedTuple

__all__ = ["PACKAGES", "Package", "package_of_module"]


class Package(NamedTuple):
    """A distribution of the record.

    `modules` are its top-level modules, `since` is the first release that is read, `parts` is the number of version parts that name a minor release.
    `reads_attributes` is False where the attributes of classes are left out: the layers of hundreds of models would be half of the file.
    `reads_private` is False where names with an underscore are left out: nobody's PyTorch code asks for them. `reads_libraries` is True where the texts
    of compiled libraries are read too. `reads_names` is False where only requirements are kept, because the wheels are hundreds of megabytes of CUDA, or
    one compiled module.
    """

    name: str
    modules: tuple[str, ...]
    since: str = "0"
    parts: int = 2
    reads_libraries: bool = False
    reads_attributes: bool = True
    reads_private: bool = True
    reads_names: bool = True


PACKAGES = {
    package.name: package
    for package in (
        Package("torch", ("torch", "functorch"), "0.4", reads_libraries=True),
        Package("torchvision", ("torchvision",), "0.2.1", reads_libraries=True),
        Package("torchaudio", ("torchaudio",), "0.3", reads_libraries=True),
        Package("torchtext", ("torchtext",), "0.3"),
        Package("torchdata", ("torchdata",), "0.3"),
        Package("transformers", ("transformers",), "2.0", reads_attributes=False),
        Package("tokenizers", ("tokenizers",), "0.5"),
        Package("huggingface-hub", ("huggingface_hub",)),
        Package("datasets", ("datasets",), "1.0"),
        Package("accelerate", ("accelerate",)),
        Package("peft", ("peft",)),
        Package("trl", ("trl",)),
        Package("diffusers", ("diffusers",), reads_attributes=False),
        Package("safetensors", ("safetensors",), "0.2"),
        Package("timm", ("timm",), "0.1", 3),
        Package("pytorch-lightning", ("pytorch_lightning",), "0.5"),
        Package("lightning", ("lightning", "lightning_fabric"), "1.8"),
        Package("torchmetrics", ("torchmetrics",)),
        Package("fastai", ("fastai",), "1.0.39"),
        Package("einops", ("einops",), "0.1"),
        Package("torch-geometric", ("torch_geometric",), "1.0"),
        Package("bitsandbytes", ("bitsandbytes",), "0.30"),
        Package("onnx", ("onnx",), "1.4"),
        Package("onnxruntime", ("onnxruntime",), "1.0"),
        Package("numpy", ("numpy",), "1.16", reads_private=False),
        Package("pandas", ("pandas",), "0.24", reads_private=False),
        Package("pillow", ("PIL",), "5.4"),
        Package("scipy", ("scipy",), "1.2", reads_private=False),
        Package("scikit-learn", ("sklearn",), "0.20", reads_private=False),
        Package("opencv-python", ("cv2",), "4.0", reads_names=False),
        Package("mmcv", ("mmcv",), "0.2.10"),
        Package("mmengine", ("mmengine",), "0.1"),
        Package("deepspeed", ("deepspeed",), "0.3"),
        Package("xformers", ("xformers",), "0.0.13", 3, reads_names=False),
        Package("flash-attn", ("flash_attn",), "1.0"),
        Package("triton", ("triton",), "2.0", reads_names=False),
    )
}
"""The packages by normalized distribution name."""

_BY_MODULE = {module: package for package in PACKAGES.values() for module in package.modules}


def package_of_module(name: str) -> Package | None:
    """Return the package that a dotted module name belongs to, or None if the record does not cover it."""
    return _BY_MODULE.get(name.partition(".")[0])
