"""Rules as data, and the words made from them."""

from __future__ import annotations

import dataclasses
import warnings

import pytest

from cheat_env import Rules, RulesError, RulesWarning, Tables, actions, variants
from cheat_env.__main__ import main
from cheat_env.cards import parse_deck
from cheat_env.rules import OPTION_FIELDS, spelled
from cheat_env.values import VALUES

#: Values that no published game has: for house rules.
UNUSED = {("rank", "adjacent"), ("lie_leader", "claimant"), ("truth_leader", "challenger")}

# --- Refusals -------------------------------------------------------------------------------------

CONTRADICTIONS = [
    ("english", {"players": [1, 4]}, "players 1"),
    ("english", {"players": [3, 9]}, "players 9"),
    ("english", {"players": [5, 3]}, "players [5, 3]"),
    ("english", {"players": 4}, "players 4"),
    ("english", {"players": [3, "6"]}, "players '6'"),
    ("english", {"cards_per_play": [0, 4]}, "cards_per_play 0"),
    ("english", {"cards_per_play": [3, 2]}, "cards_per_play [3, 2]"),
    ("english", {"cards_per_play": [1, 2, 3]}, "cards_per_play [1, 2, 3]"),
    ("english", {"cards_per_play": [True, 2]}, "cards_per_play True"),
    ("english", {"deck": "A-Z"}, "deck 'A-Z'"),
    ("english", {"deck": "A A 2"}, "deck 'A A 2'"),
    ("english", {"deck": ""}, "deck ''"),
    ("english", {"deck": "A-K", "decks": 0}, "decks 0"),
    ("english", {"decks": 3}, "156 cards"),
    ("english", {"decks": 1.5}, "decks 1.5"),
    ("english", {"decks": {"3-4": 1}}, "decks: no value for 5 players"),
    ("english", {"decks": {"few": 1}}, "decks 'few'"),
    ("english", {"copies": 0}, "copies 0"),
    ("english", {"copies": "4"}, "copies '4'"),
    ("english", {"opening": "Z"}, "opening 'Z'"),
    ("russian", {"opening": "2"}, "opening '2'"),
    ("english", {"rank": "sideways"}, "rank 'sideways'"),
    ("english", {"rank": ["up"]}, "rank ['up']"),
    ("english", {"rank": None}, "rank None"),
    ("english", {"challengers": "all"}, "challengers 'all'"),
    ("english", {"lie_leader": "dealer"}, "lie_leader 'dealer'"),
    ("english", {"truth_leader": 1}, "truth_leader 1"),
    ("english", {"rank_after_challenge": "again"}, "rank_after_challenge 'again'"),
    ("english", {"quads": True}, "quads True"),
    ("english", {"removed_cards": -1}, "removed_cards -1"),
    ("english", {"removed_cards": 50}, "50 removed"),
    ("english", {"end": "last_in"}, "end last_in and scoring winner"),
    ("russian", {"end": "first_out"}, "end first_out and scoring last"),
    ("english", {"end": "never"}, "end 'never'"),
    ("english", {"scoring": "last"}, "end first_out and scoring last"),
    ("english", {"scoring": "points"}, "scoring 'points'"),
    ("english", {"rank": "fixed"}, "rank fixed and rank_after_challenge continue"),
    ("english", {"deals": 0}, "deals 0"),
    ("english", {"deals": 2.0}, "deals 2.0"),
    ("english", {"max_plays": 0}, "max_plays 0"),
    ("english", {"max_plays": None}, "max_plays None"),
    ("english", {"max_play": 7}, "max_plays"),
    ("english", {"challenger": "next"}, "challengers"),
    ("english", {"zebra": 1}, "zebra"),
    ("enlgish", {}, "enlgish"),
    ({}, {}, "base"),
    ({"base": "poker"}, {}, "poker"),
    ({"base": "english", "decs": 2}, {}, "decks"),
    (None, {}, "None"),
    (7, {}, "7"),
]


@pytest.mark.parametrize(("variant", "options", "named"), CONTRADICTIONS, ids=str)
def test_contradictions_are_refused(variant, options, named):
    """Rules that can't be played are refused in one line with the option and its value."""
    with pytest.raises(RulesError) as error:
        Rules.load(variant, **options)
    assert named in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("option", OPTION_FIELDS, ids=lambda option: option.name)
def test_wrong_type_is_refused(option):
    """A value of a wrong type is refused like any other wrong value, whatever the option."""
    with pytest.raises(RulesError, match=spelled(option.name)):
        Rules.load("english", **{option.name: {"x": []}})


@pytest.mark.parametrize("players", [2, 7, 0, -1, 3.0, "3", True])
def test_wrong_number_of_players(players):
    """A table for a number of players that the game is not for is refused."""
    with pytest.raises(RulesError, match="num_players"):
        Tables("english", players)


def test_rules_are_frozen():
    """Nobody changes rules in the middle of a game."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Rules.load("english").deals = 2


# --- House rules ----------------------------------------------------------------------------------


def test_house_rules():
    """A mapping with a base changes what it names and nothing else."""
    base, house = Rules.load("russian"), Rules.load({"base": "russian", "quads": "mandatory"})
    changed = {key for key, value in house.as_options().items() if base.as_options()[key] != value}
    assert changed == {"quads"}
    assert house.name == "russian (house rules)"


def test_keywords_beat_house_rules():
    """An option given by keyword wins over the mapping's."""
    assert Rules.load({"base": "english", "deals": 2}, deals=3).deals == 3
    assert Rules.load(Rules.load("english", deals=2), max_plays=9).deals == 2


def test_house_rules_on_house_rules():
    """A base may be house rules itself."""
    inner = {"base": "english", "deals": 2}
    house = Rules.load({"base": inner, "max_plays": 9})
    assert (house.deals, house.max_plays, house.rank) == (2, 9, "up")


@pytest.mark.parametrize("variant", variants())
def test_options_come_back(variant):
    """`as_options` is what a YAML file of the game would say."""
    rules = Rules.load(variant)
    again = Rules.load({"base": "english", **rules.as_options()})
    assert again.as_options() == rules.as_options()
    low, high = rules.players
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RulesWarning)
        assert all(again.options(n) == rules.options(n) for n in range(low, high + 1))


def test_alias():
    """`challengers: any` is another spelling of `anyone`."""
    assert Rules.load("russian", challengers="any").challengers == "anyone"


def test_deck_by_players():
    """A deck and the number of decks may depend on the number of players."""
    russian, marquoir = Rules.load("russian"), Rules.load("marquoir")
    assert [len(russian.deck_for(n)) for n in range(2, 7)] == [9, 9, 13, 13, 13]
    assert [marquoir.copies_for(n) for n in range(3, 9)] == [4, 4, 4, 4, 8, 8]
    single = Rules.load("english", decks={"3": 1, "4-6": 2})
    assert [single.copies_for(n) for n in range(3, 7)] == [4, 8, 8, 8]


@pytest.mark.parametrize(
    "deck", ["7-A", "7 8 9 10 J Q K A", ["7", "8", "9", "10", "J", "Q", "K", "A"]]
)
def test_deck_as_stretch_or_list(deck):
    """A deck is a stretch of the cycle, or its ranks one by one, in a text or a list."""
    assert " ".join(Rules.load("english", deck=deck).deck_for(3)) == "7 8 9 10 J Q K A"


def test_default_players():
    """Four players, or the nearest number that the game allows."""
    allowed = [(3, 6), (2, 3), (5, 8), (2, 8)]
    found = [Rules.load("english", players=list(pair), decks=1).default_players for pair in allowed]
    assert found == [4, 3, 5, 4]
    assert Tables("russian").num_players == 4


# --- Warnings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("deck", "players", "rank"), [("7-A", 4, "up"), ("7-K", 7, "down")])
def test_warning_for_a_shared_factor(deck, players, rank):
    """Ranks and players with a common factor are warned of, as a seat never gets some ranks."""
    rules = Rules.load("english", deck=deck, players=[3, 7], opening="7", rank=rank)
    with pytest.warns(RulesWarning, match="share a factor"):
        rules.options(players)


@pytest.mark.parametrize(("deck", "players", "rank"), [("7-A", 3, "up"), ("7-A", 4, "free")])
def test_no_warning_without_one(deck, players, rank):
    """No warning without a common factor, nor where the rank does not walk round the deck."""
    rules = Rules.load("english", deck=deck, opening="7", rank=rank)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rules.options(players)


def test_published_games_do_not_warn(game):
    """No published game at a legal number of players is warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Tables(*game)


# --- Words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", OPTION_FIELDS, ids=lambda option: option.name)
def test_option_is_explained(option):
    """Every option says what it means, and every value of one is used by a published game."""
    assert option.metadata["meaning"]
    used = {getattr(Rules.load(name), option.name) for name in variants()}
    unused = {(option.name, value) for value in VALUES.get(option.name, ()) if value not in used}
    assert unused <= UNUSED


@pytest.mark.parametrize("variant", variants())
def test_command_rules(variant, capsys):
    """`python -m cheat_env rules NAME` prints the title, every option and the sources."""
    assert main(["rules", variant]) == 0
    printed = capsys.readouterr().out
    rules = Rules.load(variant)
    assert rules.title in printed
    for option in OPTION_FIELDS:
        assert f"\n  {spelled(option.name)}: " in printed
        assert option.metadata["meaning"] in printed
        assert " | ".join(VALUES.get(option.name, ())) in printed
    assert rules.sources and all(source in printed for source in rules.sources)


def test_command_rules_lists_the_games(capsys):
    """`python -m cheat_env rules` lists every game with its title."""
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == variants()
    assert all(Rules.load(name).title in line for name, line in zip(variants(), lines, strict=True))


def test_command_rules_unknown(capsys):
    """An unknown game: exit 2 and one line that names it."""
    assert main(["rules", "poker"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and "poker" in err and err.count("\n") == 1


def test_command_layouts(capsys):
    """`python -m cheat_env layouts` prints each action group and each field."""
    assert main(["layouts"]) == 0
    printed = capsys.readouterr().out
    assert all(f"`{group.name}`" in printed for group in actions.GROUPS)
    assert all(f"`{name}`" in printed for name in ("own_hand", "tallies"))


def test_action_table():
    """46 actions, each with a name of its own, the groups one after another."""
    assert actions.NUM_ACTIONS == 46
    assert len({actions.name(a) for a in range(46)}) == 46
    first = 0
    for group in actions.GROUPS:
        assert group.first == first
        first += group.length
    assert first == 46


@pytest.mark.parametrize(
    ("action", "name", "words"),
    [
        (0, "pick_0", "pick Q"),
        (1, "pick_1", "pick K"),
        (2, "pick_2", "pick A"),
        (13, "pick_joker", "pick Jo"),
        (14, "lay", "lay"),
        (15, "accept", "accept"),
        (16, "challenge", "challenge"),
        (17, "announce_0", "announce Q"),
        (30, "discard_0", "discard Q"),
        (43, "keep", "keep"),
        (44, "pass", "pass"),
        (45, "believe", "believe"),
    ],
)
def test_words_of_actions(action, name, words):
    """A relative rank is counted round the deck from the rank in force."""
    deck = parse_deck("A-K")
    assert (actions.name(action), actions.words(action, deck, deck.index("Q"))) == (name, words)


def test_numbers_stand_for_ranks():
    """YAML reads 7 as a number; as a deck or an opening it is the rank all the same."""
    rules = Rules.load("english", players=[3, 4], deck=7, opening=7)
    assert (rules.deck_for(3), rules.opening) == (("7",), "7")
