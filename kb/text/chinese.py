"""Segment Chinese text: fold Traditional to Simplified, and cut words by jieba with the field's own terms in its dictionary.

jieba would read its whole dictionary first, which takes half a second and 80 MB. Its file is sorted, so the words that begin
with a character are found by binary search when a text has that character. A test compares the cuts of every entry with those
of a jieba that has read everything.
"""

from __future__ import annotations

import io
import mmap
import os
from bisect import bisect_left
from functools import cache

from kb.startup.light_import import light_import
from kb.startup.named_tuple import NamedTuple
from kb.text.scripts import han_runs, has_han, is_han

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Concept", "concepts", "cut", "to_simplified"]

SYNONYMS = os.path.join(os.path.dirname(__file__), "data", "synonyms.txt")
_FREQUENCY = 20_000
"""Frequency of the field's terms in jieba's dictionary, high enough that they are preferred to the words inside them."""

_TOTAL = 60_101_967
"""The sum of the frequencies in jieba's dictionary. A test adds them up."""

_STOP_WORDS = frozenset(
    (
        "的 了 是 在 我 我们 你 您 他 她 它 们 咱 就 都 也 还 又 和 与 及 或 或者 但 但是 而 而且 把 被 让 给 对 "
        "对于 从 到 向 为 为了 因为 由于 所以 因此 如果 要是 假如 那 那么 这 这个 那个 这样 那样 这么 这里 那里 "
        "这边 这种 那种 这些 那些 有 没 没有 个 一个 一 二 两 三 几 第一 第二 每 某 些 吗 呢 吧 啊 呀 哦 嘛 啦 请 "
        "请问 问 想 想问 想要 想请问 一下 什么 怎 怎么 怎样 如何 为什么 为何 为啥 啥 咋 咋办 怎么办 怎么回事 回事 怎么样 哪 "
        "哪里 哪个 哪些 多少 可以 能 能够 会 要 需要 应该 必须 得 地 着 过 上 下 中 里 内 外 后 前 时 时候 之后 "
        "之前 以后 以前 然后 接着 现在 目前 今天 已经 正在 还是 仍然 依然 只 只有 只是 就是 不是 是不是 有没有 "
        "能不能 会不会 可不可以 不 无 非 大家 大佬 各位 楼主 作者 老师 博主 朋友 谢谢 感谢 你好 您好 求助 求 "
        "求教 请教 问题 出现 遇到 碰到 发现 知道 觉得 感觉 认为 以为 很 非常 太 最 更 比较 特别 十分 挺 蛮 有点 "
        "其实 其他 其它 别的 另外 另 自己 自己的 本人 情况 以及 等 等等 之 其 此 该 该怎么 用 使用 用到 进行 "
        "通过 根据 按照 关于 的话 的时候 来 去 做 弄 搞 看 看到 看看 看过 说 说是 讲 写 写着 跑 跑到 放 放到 拿 "
        "拿到 起来 出来 下来 上去 下去 办法 方法 解决 处理 解决办法 处理办法 却 比 反而 明明 居然 竟然 突然 "
        "忽然 好像 似乎 大概 可能 也许 应当 直接 一直 总是 老是 经常 有时 有时候 一样 一些 一点 一次 一种 一张 "
        "一块 一段 一会 一会儿 全部 全都 都是 所有 任何 整个 各 各种 多 少 大 小 好 好的 不好 行 不行 可 可是 "
        "不过 只要 只能 才 才能 再 再次 刚 刚刚 刚才 先 最后 首先 其次 里面 外面 上面 下面 后面 前面 地方 东西 "
        "事 事情 原因 意思 帮忙 帮 麻烦 解答 回答 帮助 指点 希望 试 试过 尝试 改 改成 改了 代码 程序 算 成 变成 "
        "当 跟 同 像 以 于 由 且 虽然 即使 无论 不管 除了 包括 例如 比如 如下 如图 截图 附上"
    ).split()
)


class Concept(NamedTuple):
    """A concept of the field with its wordings in both languages."""

    name: str
    en: tuple[str, ...]
    zh: tuple[str, ...]


@cache
def concepts() -> tuple[Concept, ...]:
    """Return the concepts of `kb/text/data/synonyms.txt`. The head of that file explains its format."""
    with open(SYNONYMS, encoding="utf-8") as file:
        rows = [line.split("; ") for line in file.read().splitlines() if line[:1] not in ("", "#")]
    return tuple(Concept(name, tuple(en.split(", ")), tuple(zh.lower().split(", "))) for name, en, zh in rows)


def to_simplified(text: str) -> str:
    """Return the text with Traditional characters and Taiwan's words replaced by mainland ones: `記憶體不足` becomes `内存不足`.

    Simplified text is returned unchanged, because the conversion would mistake some of its words.
    """
    if not has_han(text) or _traditional().isdisjoint(text):
        return text
    return str(_converter().convert(text))


def cut(text: str) -> list[str]:
    """Return the Chinese words of simplified text in order, each followed by the shorter words inside it, without stop words."""
    if not has_han(text):
        return []  # importing jieba takes 0.02 s
    tokenizer = _tokenizer()
    words: list[str] = []
    for run in han_runs(text):
        for character in run:
            _learn(character)
        words += (word for word in tokenizer.cut_for_search(run) if word not in _STOP_WORDS)
    return words


@cache
def _tokenizer() -> Any:
    """Return jieba's tokenizer, which knows the sum of all frequencies and no word yet."""
    with light_import():
        import jieba

    tokenizer = jieba.Tokenizer()
    tokenizer.total = _TOTAL + _FREQUENCY * sum(map(len, _field_words().values()))
    tokenizer.initialized = True
    return tokenizer


@cache
def _learn(character: str) -> None:
    """Teach the tokenizer the words that begin with the character."""
    added = "".join(f"{word} {_FREQUENCY}\n" for word in _field_words().get(character, ()))
    frequencies, _ = _tokenizer().gen_pfdict(io.BytesIO(_dictionary_lines(character) + added.encode()))
    _tokenizer().FREQ.update(frequencies)


@cache
def _field_words() -> dict[str, list[str]]:
    """Return the field's own Chinese words by their first characters."""
    words: dict[str, list[str]] = {}
    for word in dict.fromkeys(word for concept in concepts() for word in concept.zh if all(map(is_han, word))):
        words.setdefault(word[0], []).append(word)
    return words


def _dictionary_lines(character: str) -> bytes:
    """Return the lines of jieba's dictionary whose words begin with the character."""
    dictionary = _dictionary()

    def line_at(offset: int) -> bytes:
        return dictionary[dictionary.rfind(b"\n", 0, offset) + 1 : dictionary.find(b"\n", offset)]

    begin = dictionary.find("\n一".encode()) + 1  # before it stand words with Latin letters, which are not sorted
    first, offsets = character.encode(), range(len(dictionary))
    start, end = (bisect_left(offsets, bound, begin, key=line_at) for bound in (first, first + b"\xff"))
    return dictionary[start:end]


@cache
def _dictionary() -> mmap.mmap:
    import jieba

    with open(os.path.join(os.path.dirname(jieba.__file__), "dict.txt"), "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@cache
def _traditional() -> frozenset[str]:
    """Return the characters that occur only in Traditional text, according to OpenCC's tables."""
    import opencc

    tables = []
    for name in ("TSCharacters.txt", "STCharacters.txt"):
        with open(os.path.join(os.path.dirname(opencc.__file__), "dictionary", name), encoding="utf-8") as file:
            tables.append(file.read().split("\n"))
    from_traditional, from_simplified = ({line[:1] for line in table} for table in tables)
    return frozenset(from_traditional - from_simplified - set("".join(line[1:] for line in tables[0])))


@cache
def _converter() -> Any:
    import opencc

    return opencc.OpenCC("tw2sp")
