"""Chinese text as words: Traditional folded to Simplified, cut by jieba's algorithm with the field's own terms in its dictionary.

`rjieba` cuts as jieba does, in Rust, and needs a tenth of its time to start; a test compares the two on every entry.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import Any, NamedTuple

__all__ = ["Concept", "concepts", "cut", "has_chinese", "to_simplified"]

TERMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "terms.txt")
_HAN = re.compile(r"[\u3400-\u9fff]")
_HAN_RUN = re.compile(r"[\u3400-\u9fff]+")
_EMPTY = frozenset(
    [
        "的",
        "了",
        "是",
        "在",
        "我",
        "我们",
        "你",
        "您",
        "他",
        "它",
        "们",
        "就",
        "都",
        "也",
        "还",
        "又",
        "和",
        "与",
        "及",
        "或",
        "但",
        "但是",
        "而",
        "而且",
        "把",
        "被",
        "让",
        "给",
        "对",
        "对于",
        "从",
        "到",
        "向",
        "为",
        "因为",
        "所以",
        "如果",
        "那",
        "那么",
        "这",
        "这个",
        "那个",
        "这样",
        "那样",
        "这里",
        "那里",
        "有",
        "没",
        "个",
        "一个",
        "一",
        "两",
        "几",
        "吗",
        "呢",
        "吧",
        "啊",
        "呀",
        "哦",
        "嘛",
        "请",
        "请问",
        "问",
        "想",
        "想问",
        "一下",
        "什么",
        "怎么",
        "怎样",
        "如何",
        "为什么",
        "为何",
        "怎么办",
        "哪里",
        "哪个",
        "多少",
        "可以",
        "能",
        "能够",
        "会",
        "要",
        "需要",
        "应该",
        "得",
        "着",
        "过",
        "上",
        "下",
        "中",
        "里",
        "后",
        "前",
        "时",
        "时候",
        "之后",
        "之前",
        "以后",
        "以前",
        "然后",
        "现在",
        "已经",
        "正在",
        "还是",
        "只",
        "只有",
        "只是",
        "就是",
        "不是",
        "是不是",
        "有没有",
        "大家",
        "大佬",
        "谢谢",
        "感谢",
        "你好",
        "您好",
        "求助",
        "求",
        "问题",
        "出现",
        "遇到",
        "发现",
        "知道",
        "觉得",
        "感觉",
        "很",
        "非常",
        "太",
        "最",
        "更",
        "比较",
        "其实",
        "其他",
        "别的",
        "自己",
        "自己的",
        "情况",
        "以及",
        "等",
        "等等",
        "之",
        "其",
        "此",
        "该",
        "用",
        "使用",
        "进行",
        "通过",
        "根据",
        "按照",
        "关于",
    ]
)


class Concept(NamedTuple):
    """A concept of the field and its wordings in both languages."""

    name: str
    en: tuple[str, ...]
    zh: tuple[str, ...]


@cache
def concepts() -> tuple[Concept, ...]:
    """Return the concepts of `kb/data/terms.txt`, whose head explains the format."""
    found = []
    with open(TERMS, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, en, zh = (part.strip() for part in line.split(";"))
                found.append(Concept(name, _wordings(en), _wordings(zh)))
    return tuple(found)


def has_chinese(text: str) -> bool:
    """Tell whether there is a Chinese character in the text."""
    return not text.isascii() and bool(_HAN.search(text))


def to_simplified(text: str) -> str:
    """Return the text with Traditional characters and Taiwan's words as mainland ones: `記憶體不足` becomes `内存不足`."""
    return str(_converter().convert(text)) if has_chinese(text) else text


def cut(text: str) -> list[str]:
    """Return the Chinese words of simplified text in order, long words followed by the shorter ones inside them; words that tell nothing are left out."""
    words: list[str] = []
    for run in _HAN_RUN.findall(text):
        words += [word for word in _jieba().cut_for_search(run, True) if word not in _EMPTY]
    return words


def _wordings(text: str) -> tuple[str, ...]:
    return tuple(part.strip().lower() for part in text.split(",") if part.strip())


@cache
def _jieba() -> Any:
    import rjieba

    for concept in concepts():
        for word in concept.zh:
            if _HAN_RUN.fullmatch(word):
                rjieba.add_word(word, rjieba.suggest_freq(word), "n")
    return rjieba


@cache
def _converter() -> Any:
    import opencc

    return opencc.OpenCC("tw2sp")
