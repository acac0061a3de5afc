"""The tasks of this project; see the README for the two that matter.

nox -s demo            the main job, live in the terminal
nox -s tests           everything that must hold before a commit
nox -s clients         kubectl, kopf and client-go against the embedded apiserver; skipped where there are none
nox -s bench -- quick  what things cost, as ratios
nox -s soak            the seeded scenarios and the state machines, for long
"""

import os

import nox
from nox.command import CommandFailed

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or each of the many processes compiles the library anew

nox.options.sessions = ["tests"]
nox.options.error_on_external_run = True
nox.options.default_venv_backend = "venv"

TOOLS = ("import-linter", "mypy", "ruff", "types-PyYAML")
TESTS = (
    *("hypothesis", "pytest", "pytest-asyncio", "pytest-timeout", "pytest-xdist"),
    *("opentelemetry-sdk", "zstandard"),  # what the extras "tracing" and "fast" are used with
    *("jsonpath-ng", "pydantic", "python-jsonpath"),  # what people read objects with
)
DOCS = ("mkdocs-material", "mkdocstrings[python]")
CLIENTS = ("kopf",)
WORKERS = ("-n", str((os.cpu_count() or 1) + 1), "--dist", "worksteal")
"""One process more than there are cores, since many tests wait for something."""
CODE = ("kinformer", "tests", "examples", "docs", "noxfile.py")


@nox.session
def demo(session: nox.Session) -> None:
    """Run the demo: an apiserver, a controller, and a world that it must keep in order."""
    install(session, ".[apiserver,cli]")
    session.run("kinformer", "demo", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Lint, types, layers, unit to wire tests, examples, docs."""
    install(session, ".[apiserver,cli,etcd,metrics,test,tracing]", *TOOLS, *TESTS, *DOCS)
    session.run("ruff", "format", "--check", *CODE)
    session.run("ruff", "check", *CODE)
    session.run("lint-imports", "--no-cache")
    session.run("mypy", "--num-workers", "2", "kinformer", "tests", "examples")
    session.run("pytest", *WORKERS, "-m", "not clients", *session.posargs)
    build_docs(session)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation into site/; a warning is an error."""
    install(session, ".[all]", *DOCS)
    build_docs(session)


@nox.session
def clients(session: nox.Session) -> None:
    """Drive the embedded apiserver with clients that are not ours."""
    install(session, ".[apiserver,cli,test]", *TESTS, *CLIENTS)
    session.run("pytest", "tests/clients", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure; ``-- quick`` takes fewer rounds."""
    install(session, ".[apiserver]", "aiohttp", "kubernetes", "zstandard")
    session.run("python", "-m", "tests.bench", *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Run each seeded scenario with 200 seeds, and each state machine ten times as long."""
    install(session, ".[apiserver,cli,etcd,metrics,test,tracing]", *TESTS)
    seeds = ("--seeds", "200", "--timeout", "900")
    session.run("pytest", *WORKERS, *seeds, "tests/scenario", "tests/stateful", *session.posargs)


def install(session: nox.Session, *what: str) -> None:
    """Install the first of these from its folder, with uv where it works, since pip takes ten times as long."""
    try:
        session.install("uv")
        session.run("uv", "pip", "install", "--quiet", "--python", session.virtualenv.location, "-e", *what)
    except CommandFailed:  # such as a mirror that only pip has been told of
        session.install("--no-compile", "-e", *what)


def build_docs(session: nox.Session) -> None:
    """Build the documentation with the tools that the session has."""
    session.run("mkdocs", "build", "--strict", "--quiet", env={"NO_MKDOCS_2_WARNING": "1"})
