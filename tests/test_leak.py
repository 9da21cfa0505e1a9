"""A statistical test that nothing hidden leaks: no classifier beats the fair count of the cards.

In positions from play, the cards that a seat can't see are dealt anew at random among the places
where they can be, and the seat's observation is written again. Which hidden card is where then
depends on nothing that the seat may see but its count of the cards: a classifier that tells it
better than that count has found a leak.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn import functional

from cheat_env import Tables
from cheat_env.cards import SLOTS
from cheat_env.observations import LAYOUTS, MEMORY, encode, view
from cheat_env.state import OVER, records

#: Positions, the half of which are learned from, and passes over them.
POSITIONS, EPOCHS = 20_000, 6
#: Chances are kept from 0: nothing that a seat is sure of here is a mistake of the count.
LEAST = 1e-6

Cards = NDArray[np.float64]


def play(variant: str, players: int, positions: int) -> tuple[NDArray[np.int8], Cards, Cards]:
    """Return observations (n, D) of positions dealt anew, and the hidden cards of two places.

    By relative rank: those in the next seat's hand (n, 13), and those that nobody was dealt.
    """
    tables = Tables(variant, players, 400, seed=11)
    options, rng = tables.options, np.random.default_rng(5)
    ranks, found = int(options.num_ranks), []
    while len(found) < positions:
        for _ in range(25):
            chances = tables.action_mask * rng.random(tables.action_mask.shape)
            tables.step(np.argmax(chances, axis=1))
        state = records(np.asarray(tables.state).copy())
        for table in state:
            seat = int(table["turn"])
            if table["phase"] == OVER or _may_be_in_the_group(table, seat):
                continue
            deal_anew(table, seat, players, rng)
            seen = np.zeros(MEMORY.size, np.int8)
            encode(table, options, seat, seen)
            other = (seat + 1) % players
            order = (max(int(table["rank"]), 0) + np.arange(ranks)) % ranks
            hand = table["hand"][other] - table["known"][seat, other]
            found.append((seen, hand[order].astype(float), table["aside"][order].astype(float)))
    observation, hands, aside = (np.array(part) for part in zip(*found[:positions], strict=True))
    return observation, hands, aside


def _may_be_in_the_group(table: Any, seat: int) -> bool:
    """Say whether cards that the seat is sure of lie in a hand or in the group before it."""
    claimant = int(table["claimant"])
    return bool(
        table["group_size"] > 0 and claimant != seat and table["known"][seat, claimant].any()
    )


def deal_anew(table: Any, seat: int, players: int, rng: np.random.Generator) -> None:
    """Deal the cards that a seat can't place anew among the places where they can be."""
    others = [other for other in range(players) if other != seat]
    places = [table["hand"][other] for other in others]
    places += [table["pile"][other] for other in others]
    places += [table["aside"]]
    if table["claimant"] != seat:
        places.append(table["group"])
    sure = [table["known"][seat, other] for other in others]
    for hand, known in zip(places, sure, strict=False):
        hand -= known
    sizes = [int(place.sum()) for place in places]
    cards = rng.permutation(np.repeat(np.arange(SLOTS), np.sum(places, axis=0)))
    for place, some in zip(places, np.split(cards, np.cumsum(sizes)[:-1]), strict=True):
        place[:] = np.bincount(some, minlength=SLOTS)
    for hand, known in zip(places, sure, strict=False):
        hand += known


def unseen(observation: NDArray[np.int8], ranks: int) -> Cards:
    """Return how many cards of each relative rank a seat can't place, (n, ranks)."""
    fields = view(observation)
    seen = fields["own_hand"] + fields["own_pile"] + fields["own_burnt"] + fields["gone"]
    seen = seen.astype(float)[:, :ranks] + fields["known"].sum(axis=1)[:, :ranks]
    copies = fields["copies"].astype(float)
    return copies - seen - copies * fields["quads"][:, :ranks]


def log_loss(chances: Cards, truth: Cards) -> Cards:
    """Return the loss of each row of chances (n, k) on a distribution of cards (n, k)."""
    weight = truth / truth.sum(axis=1, keepdims=True)
    return -(weight * np.log(np.maximum(chances, LEAST))).sum(axis=1)


def learned(features: NDArray[np.float32], fair: Cards, truth: Cards) -> Cards:
    """Return the chances that a network, trained on the first half, gives to the second one.

    It begins as the fair count, and learns in what way to differ from it.
    """
    torch.manual_seed(0)
    torch.set_num_threads(1)
    half = len(features) // 2
    network = torch.nn.Sequential(
        torch.nn.Linear(features.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, truth.shape[1])
    )
    torch.nn.init.zeros_(network[2].weight)
    torch.nn.init.zeros_(network[2].bias)
    optimizer = torch.optim.AdamW(network.parameters(), 3e-4, weight_decay=0.1)
    numbers, count = torch.from_numpy(features), torch.from_numpy(np.log(fair).astype(np.float32))
    target = torch.from_numpy((truth / truth.sum(axis=1, keepdims=True)).astype(np.float32))
    for _ in range(EPOCHS):
        for rows in torch.randperm(half).split(256):
            loss = functional.cross_entropy(network(numbers[rows]) + count[rows], target[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        return (network(numbers[half:]) + count[half:]).softmax(dim=1).double().numpy()


def gain(observation: NDArray[np.int8], fair: Cards, truth: Cards) -> tuple[float, float]:
    """Return by how much a classifier's loss is below the fair count's, and the standard error."""
    fair = np.maximum(fair, LEAST) / np.maximum(fair, LEAST).sum(axis=1, keepdims=True)
    scale = MEMORY.per_number("scale")[: observation.shape[1]]
    chances = learned((observation / scale).astype(np.float32), fair, truth)
    half = len(truth) // 2
    better = log_loss(fair[half:], truth[half:]) - log_loss(chances, truth[half:])
    return float(better.mean()), float(better.std() / np.sqrt(len(better)))


CASES = [("english", 4, "hand"), ("marquoir", 5, "hand"), ("russian", 3, "hand")]
CASES += [("russian", 3, "aside")]


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "players", "what"), CASES)
def test_no_classifier_beats_the_fair_count(variant: str, players: int, what: str) -> None:
    """Neither the next hand nor the card aside can be told better, by either observation."""
    observation, hand, aside = play(variant, players, POSITIONS)
    truth = hand if what == "hand" else aside
    kept = truth.sum(axis=1) > 0
    fair = unseen(observation[kept], truth.shape[1])
    for layout in LAYOUTS.values():
        better, error = gain(observation[kept][:, : layout.size], fair, truth[kept])
        assert better < 3 * error + 1e-3, layout.name


@pytest.mark.slow
def test_a_leak_is_found() -> None:
    """Numbers that tell the card aside, in one position of ten, are enough for the classifier."""
    observation, _, aside = play("russian", 3, POSITIONS)
    told = np.random.default_rng(0).random(len(aside)) < 0.1
    ranks = aside.shape[1]
    observation[:, -ranks:] = np.where(told[:, None], 8 * aside, 0)
    better, error = gain(observation, unseen(observation, aside.shape[1]), aside)
    assert better > 5 * error
