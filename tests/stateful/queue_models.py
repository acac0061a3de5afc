"""The plainest models of the orders of a work queue: lists that are searched, and nothing remembered twice."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Wish:
    """A key that can be taken: its priority, and the numbers of the steps in which it got its place and its age."""

    key: str
    priority: int
    place: int
    age: int


class Levels:
    """Priorities, ageing and turns of buckets, as their documentation says it."""

    def __init__(self, ageing: int, bucket: Callable[[str], object]) -> None:
        self.ageing = ageing
        self.bucket = bucket
        self.steps = 0
        self.takes = 0
        self.wishes: list[Wish] = []
        self.turns: dict[int, list[object]] = {}  # whose turn it is, for each priority
        self.held: dict[str, int] = {}
        self.again: dict[str, int] = {}

    @property
    def queued(self) -> list[str]:
        return [wish.key for wish in self.wishes]

    @property
    def depth(self) -> int:
        return len(self.wishes) + len(self.again)

    def add(self, key: str, priority: int = 0) -> bool:
        if key in self.held:
            is_news = key not in self.again
            self.again[key] = max(priority, self.again.get(key, priority))
            return is_news
        self.steps += 1
        for wish in self.wishes:
            if wish.key == key:
                if priority > wish.priority:
                    wish.priority, wish.place = priority, self.steps
                    self.mend_turns()
                return False
        self.wishes.append(Wish(key, priority, self.steps, self.steps))
        self.mend_turns()
        return True

    def take(self) -> str:
        self.takes += 1
        if self.takes % self.ageing == 0:
            wish = min(self.wishes, key=lambda wish: wish.age)
        else:
            wish = self.next_by_priority()
            turns = self.turns[wish.priority]
            turns.append(turns.pop(0))
        self.wishes.remove(wish)
        self.mend_turns()
        self.held[wish.key] = wish.priority
        return wish.key

    def next_by_priority(self) -> Wish:
        top = max(wish.priority for wish in self.wishes)
        bucket = self.turns[top][0]
        level = [wish for wish in self.wishes if wish.priority == top and self.bucket(wish.key) == bucket]
        return min(level, key=lambda wish: wish.place)

    def done(self, key: str) -> None:
        del self.held[key]
        if key in self.again:
            self.add(key, self.again.pop(key))

    def mend_turns(self) -> None:
        """Buckets without keys lose their turn; new ones come last."""
        for priority in {wish.priority for wish in self.wishes} | self.turns.keys():
            level = [self.bucket(wish.key) for wish in self.wishes if wish.priority == priority]
            turns = [bucket for bucket in self.turns.get(priority, []) if bucket in level]
            for bucket in level:
                if bucket not in turns:
                    turns.append(bucket)
            self.turns[priority] = turns


class Fifo(Levels):
    """First come, first served: one level."""

    def __init__(self) -> None:
        super().__init__(ageing=1, bucket=lambda key: None)

    def add(self, key: str, priority: int = 0) -> bool:
        return super().add(key)
