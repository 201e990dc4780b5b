"""Writes small entries for tests of the index and of look-ups; their programs are never run."""

from tests.entry_factory import EntryFactory, Item, Programs

_PROGRAMS = Programs(repro="import torch\n\ntorch.ones(2)\n", fix="import torch\n\nassert torch.ones(2).sum() == 2\n")


def write_entry(folder, slug, topic="topic", **given):
    """Write an entry into `folder` and return its path; what is not given is made from the slug."""
    words = slug.replace("-", " ")
    messages = given.get("messages", [])
    if explain := given.get("explain", ""):
        messages = [{"text": messages[0], "explain": (explain, explain)}, *messages[1:]]
    return EntryFactory(folder).write(
        slug,
        topic=topic,
        title=(given.get("en", words), given.get("zh", "一个条目")),
        kind=given.get("kind", "error" if messages else "silent"),
        answer=(given.get("answer", "Do it otherwise."), given.get("answer_zh", "换个做法。")),
        messages=messages,
        apis=given.get("apis", "torch.nn.Linear").split(", "),
        tags=given.get("tags", "tag").split(", "),
        aliases=(given.get("alias_en", words), given.get("alias_zh", "一个条目")),
        sources=["000#1"],
        related=_listed(given.get("related", "")),
        also=_listed(given.get("also", "")),
        why=(given.get("why", "Because of it."), given.get("why_zh", "就是这样。")),
        items=[Item(("It went wrong", "出了错"), ("Do it otherwise.", "换个做法。"))],
        cases=[_PROGRAMS],
    )


def _listed(slugs):
    return slugs.split(", ") if slugs else []
