"""Names of software, by which a paste shows whether it is about PyTorch or about something else."""

from __future__ import annotations

import os
import re
from functools import cache

from kb.startup.lazy_regex import lazy_pattern

__all__ = ["BUILT_ON_PYTORCH", "WORD", "frameworks", "names_pytorch"]

BUILT_ON_PYTORCH = frozenset(
    (
        "torch torchvision torchaudio torchtext torchdata torchmetrics torchrec torch_npu torch_geometric torch_xla torchao torchtune functorch "
        "intel_extension_for_pytorch transformers accelerate peft trl diffusers optimum datasets sentence_transformers timm open_clip clip unsloth "
        "lightning pytorch_lightning lightning_fabric deepspeed megatron colossalai fairscale fairseq apex bitsandbytes xformers flash_attn "
        "auto_gptq awq vllm sglang lmdeploy ultralytics yolov5 mmengine mmcv mmdet mmseg detectron2 segment_anything kornia monai nnunet nnunetv2 "
        "batchgenerators fastai ignite captum botorch gpytorch pyro torch_scatter torch_sparse dgl stable_baselines3 pytorch3d nerfstudio gsplat "
        "whisper speechbrain espnet nemo asteroid pyannote comfy k_diffusion basicsr gfpgan realesrgan facenet_pytorch efficientnet_pytorch "
        "segmentation_models_pytorch pytorch_metric_learning pytorch_forecasting allennlp flair stanza llamafactory axolotl swift openmim skorch "
        "mamba_ssm causal_conv1d spconv einops"
    ).split()
)
"""Packages whose users use PyTorch, by the names of their folders."""

WORD = lazy_pattern(r"[A-Za-z][A-Za-z0-9]{0,80}+")
"""A name of software in a text."""

_PYTORCH = lazy_pattern(
    r"torch|\bATen\b|\bc10\b|\bnn\.|\.cuda\(|\.to\(|\.backward\(|requires_grad|state_dict|data_?loader", re.IGNORECASE
)


@cache
def frameworks() -> frozenset[str]:
    """Return the names of frameworks other than PyTorch, in lower case, of `kb/text/data`."""
    with open(os.path.join(os.path.dirname(__file__), "data", "frameworks.txt"), encoding="utf-8") as lines:
        return frozenset(name for line in lines if not line.startswith("#") for name in line.split())


def names_pytorch(text: str) -> bool:
    """Whether anything in the text shows that it is about PyTorch: its name, even inside another name, or what occurs only in its code."""
    return "torch" in text or bool(_PYTORCH.search(text))
