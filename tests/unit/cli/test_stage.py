"""What the demo shows: a live table in a terminal, plain lines elsewhere."""

import io

from rich.console import Console

from kinformer.cli._stage import LiveStage, PlainStage, Row

BLOG = Row("blog", "1 wanted: Served", "1/1 ready", "<h1>[x]</h1>")


def console(*, terminal: bool) -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, force_terminal=terminal, width=120, highlight=False, legacy_windows=False), out


def test_plain_lines_show_only_rows_that_changed_and_those_that_vanished() -> None:
    to, out = console(terminal=False)
    stage = PlainStage(to)
    with stage.open():
        stage.say("Create: [blog]")
        stage.show([BLOG])
        stage.show([BLOG, BLOG._replace(name="docs")])
        stage.show([BLOG._replace(name="docs")])
    assert out.getvalue().splitlines() == [
        "> Create: [blog]",
        "    blog: Website 1 wanted: Served; Deployment 1/1 ready; ConfigMap <h1>[x]</h1>",
        "    docs: Website 1 wanted: Served; Deployment 1/1 ready; ConfigMap <h1>[x]</h1>",
        "    blog: all gone",
    ]


def test_the_live_table_shows_the_story_and_the_rows_as_they_are() -> None:
    to, out = console(terminal=True)
    stage = LiveStage(to)
    with stage.open():
        stage.say("Create: [blog]")
        stage.show([BLOG])
    shown = out.getvalue()
    assert "Create: [blog]" in shown
    assert "<h1>[x]</h1>" in shown
    assert "wanted and status" in shown
