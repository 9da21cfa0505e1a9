"""The games in OpenSpiel, as `python_cheat`: the same engine, with deals as explicit chance.

    import pyspiel
    import cheat_env.open_spiel  # registers the game

    game = pyspiel.load_game("python_cheat(variant=english,players=2,ranks=3,copies=2,most=1)")

Only this room needs OpenSpiel, and nothing imports it by itself. A game is a match. Chance names
the first dealer and then deals, seat by seat and rank by rank: each of its nodes says how many
cards of the rank the seat gets. So a deal has one history, not one for every order of its cards.

All that a seat has seen (`cheat_env.told`) is its information state as a string. The tensors are
the project's observations as they are (`cheat_env.observations`): `memory` for the information
state, which remembers much but not everything, and `table` for the observation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pyspiel
import yaml
from numpy.typing import NDArray

from cheat_env import actions as act
from cheat_env import dealing, told, words
from cheat_env.cards import JOKER, JOKER_NAME
from cheat_env.checks import RulesError, whole
from cheat_env.engine import apply, base_rank, legal_actions
from cheat_env.observations import MEMORY, TABLE, Layout, encode
from cheat_env.options import MAX_CARDS, MAX_SEATS
from cheat_env.render import ansi
from cheat_env.rules import Rules
from cheat_env.state import OVER, Table, allocate
from cheat_env.tables import IllegalAction, refuse

NAME = "python_cheat"
#: The value of a parameter that is left to the game.
OWN = -1
#: What `pyspiel.load_game` may be given. `variant` is the name of a game, or house rules as in
#: `{base: russian; jokers: 2}`, with semicolons for commas; `ranks` takes the first so many of the
#: game's deck; `most` is the most cards of a play; `dealer` is the first dealer (OWN: by lot).
PARAMETERS: dict[str, Any] = {"variant": "english"} | dict.fromkeys(
    ("players", "ranks", "copies", "most", "max_plays", "dealer"), OWN
)
#: OpenSpiel counts in 32 bits.
LONGEST = 2**31 - 1
#: What a state waits for.
DEALER, CARDS, ACTION, NOTHING = range(4)


def rules_of(parameters: Mapping[str, Any]) -> tuple[Rules, int]:
    """Return the rules that all `PARAMETERS` ask for, and the number of players.

    Raises `RulesError`.
    """
    rules = Rules.load(_variant(parameters["variant"]))
    asked = {name: value for name, value in parameters.items() if value != OWN}
    players = whole("players", asked.get("players", rules.default_players), 2, MAX_SEATS)
    changes: dict[str, Any] = {k: asked[k] for k in ("copies", "max_plays") if k in asked}
    if "ranks" in asked:
        deck = rules.deck_for(players)
        changes["deck"] = " ".join(deck[: whole("ranks", asked["ranks"], 1, len(deck))])
    if "most" in asked:
        changes["cards_per_play"] = [rules.cards_per_play[0], asked["most"]]
    few, many = rules.players
    if "deck" in changes or "copies" in changes or not few <= players <= many:
        changes["players"] = [players, players]  # others could not be dealt these cards
    return rules.with_options(changes), players


def _variant(text: str) -> Any:
    """Return the name of a game, or the mapping of house rules that a text holds."""
    if not text.startswith("{"):
        return text
    try:
        return yaml.safe_load(text.replace(";", ","))
    except (yaml.YAMLError, ValueError):
        raise RulesError(
            f"variant {text!r}: give a name or house rules like {{base: russian; jokers: 2}}"
        ) from None


def _about(deals: int) -> pyspiel.GameType:
    """Return what OpenSpiel must know of the games with so many deals."""
    models = pyspiel.GameType.RewardModel
    return pyspiel.GameType(
        short_name=NAME,
        long_name="Cheat",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=models.TERMINAL if deals == 1 else models.REWARDS,
        max_num_players=MAX_SEATS,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=PARAMETERS,
    )


class CheatGame(pyspiel.Game):
    """A game of the family for a number of players.

    Args:
        params: some of `PARAMETERS`.

    Attributes:
        rules: its `Rules`.
        options: the same as a record for compiled code.
        deck: the names of its ranks.
        slots: the slots of cards that there are, in the order in which they are dealt.
        first_dealers: the seats that may deal first.

    Raises `RulesError` where a value can't be played.
    """

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        given = {k: v for k, v in (params or {}).items() if v != PARAMETERS[k]}
        rules, players = rules_of(PARAMETERS | given)
        dealer = given.get("dealer", OWN)
        seats = range(players)
        self.rules = rules
        self.options = rules.options(players)
        self.deck = rules.deck_for(players)
        self.slots = [*range(len(self.deck)), *[JOKER] * bool(self.options["jokers"])]
        self.first_dealers = seats if dealer == OWN else [whole("dealer", dealer, 0, players - 1)]
        self._most_deals = rules.deals
        if rules.until is not None:  # a deal that does not end the match has a loser
            self._most_deals = players * (rules.until.losses - 1) + 1
        if "variant" in given:  # a comma would end the value in the game's own text
            given["variant"] = given["variant"].replace(",", ";")
        super().__init__(_about(self._most_deals), self._info(players), given)

    def _info(self, players: int) -> pyspiel.GameInfo:
        """Return the sizes of the game."""
        counts = max(int(self.options["copies"]), int(self.options["jokers"])) + 1
        fullest_pays = self.rules.scoring == "most_cards"  # the others share what all losers pay
        return pyspiel.GameInfo(
            num_distinct_actions=act.NUM_ACTIONS,
            max_chance_outcomes=max(counts, players),
            num_players=players,
            min_utility=-float(self._most_deals),
            max_utility=float(self._most_deals * (players - 1 if fullest_pays else 1)),
            utility_sum=0.0,
            max_game_length=self._longest(players),
        )

    def _longest(self, players: int) -> int:
        """Return more actions than any match has; raises `RulesError` where that is too many."""
        rules = self.rules
        picks = min(rules.cards_per_play[1], rules.dealt_for(players))
        turn = picks + players + 2  # to announce, lay, be answered by all others, and keep quads
        length = self._most_deals * ((rules.max_plays + players) * turn + len(self.deck))
        if length + self.max_chance_nodes_in_history() > LONGEST:
            raise RulesError(
                f"max_plays {rules.max_plays}: a match may take {length:,} actions, more than"
                f" OpenSpiel counts ({LONGEST:,})"
            )
        return length

    def max_chance_nodes_in_history(self) -> int:
        """Return the most nodes of chance, unless hands with quads have to be dealt anew."""
        return 1 + self._most_deals * int(self.options["players"]) * len(self.slots)

    def new_initial_state(self) -> CheatState:
        """Return the state before the first deal."""
        return CheatState(self)

    def make_py_observer(
        self, iig_obs_type: pyspiel.IIGObservationType | None = None, params: Any = None
    ) -> CheatObserver | None:
        """Return what shows a seat all that it sees; of parts of that there is no observer."""
        if params:
            raise ValueError(f"observation parameters {params}: there are none")
        if not iig_obs_type:
            return CheatObserver(TABLE)
        one_seat = iig_obs_type.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER
        if not (iig_obs_type.public_info and one_seat):
            return None
        return CheatObserver(MEMORY if iig_obs_type.perfect_recall else TABLE)


class CheatState(pyspiel.State):
    """A match in play, or its cards being dealt.

    Attributes:
        seen: what each seat has seen, in words.
    """

    def __init__(self, game: CheatGame) -> None:
        super().__init__(game)
        players = game.num_players()
        self._state = allocate(1)
        self._awaits = DEALER
        self._dealt = 0
        self._due: list[int] = []
        self._rewards = [0.0] * players
        self._returns = [0.0] * players
        self.seen = [f"seat {seat} of {players}" for seat in range(players)]

    @property
    def table(self) -> Table:
        """The table as the engine knows it; the caller must not change it."""
        return self._state[0]

    # --- What OpenSpiel asks ----------------------------------------------------------------------

    def current_player(self) -> int:
        """Return the seat to act, or that it is for chance or nobody."""
        if self._awaits == ACTION:
            return int(self.table["turn"])
        over = self._awaits == NOTHING
        return int(pyspiel.PlayerId.TERMINAL if over else pyspiel.PlayerId.CHANCE)

    def is_terminal(self) -> bool:
        """Say whether the match is over."""
        return self._awaits == NOTHING

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the dealers by lot, or how many cards are dealt, and the probability of each."""
        if self._awaits == DEALER:
            dealers = self.get_game().first_dealers
            return [(seat, 1 / len(dealers)) for seat in dealers]
        ways = self._ways()
        return [(count, way / sum(ways.values())) for count, way in ways.items()]

    def returns(self) -> list[float]:
        """Return what the match has paid each seat."""
        return list(self._returns)

    def rewards(self) -> list[float]:
        """Return what was paid by the last action and the deals after it."""
        return list(self._rewards)

    def __str__(self) -> str:
        game = self.get_game()
        return ansi(self.table, game.options, game.deck)

    def _mask(self) -> NDArray[np.int8]:
        """Return 1 for what the seat to act may do, int8 (46,)."""
        mask = np.zeros(act.NUM_ACTIONS, np.int8)
        legal_actions(self.table, self.get_game().options, mask)
        return mask

    def _legal_actions(self, player: int) -> list[int]:
        legal: list[int] = np.flatnonzero(self._mask()).tolist()
        return legal

    def _action_to_string(self, player: int, action: int) -> str:
        game = self.get_game()
        if player != pyspiel.PlayerId.CHANCE:
            return act.words(action, game.deck, base_rank(self.table))
        if self._awaits == DEALER:
            return f"dealer {action}"
        seat, slot = self._place()
        rank = JOKER_NAME if slot == JOKER else game.deck[slot]
        return f"{action} x {rank} to seat {seat}"

    def _apply_action(self, action: int) -> None:
        if self._awaits != ACTION and action not in dict(self.chance_outcomes()):
            raise IllegalAction(f"chance: {action} is not among {self.chance_outcomes()}")
        if self._awaits == DEALER:
            self.table["dealer"] = action
            self._start_deal()
        elif self._awaits == CARDS:
            self._give(action)
        else:
            self._play(action)

    # --- Dealing ----------------------------------------------------------------------------------

    def _start_deal(self) -> None:
        """Take up the whole deck; every seat is due its share of it."""
        options = self.get_game().options
        dealing.clear(self.table)
        dealing.gather(self.table, options)
        self._awaits, self._dealt, self._due = CARDS, 0, [0] * len(self.seen)
        for number in range(int(options["dealt"])):
            self._due[dealing.receiver(self.table, options, number)] += 1

    def _place(self) -> tuple[int, int]:
        """Return the seat that is dealt cards next, and their slot."""
        slots = self.get_game().slots
        seat, number = divmod(self._dealt, len(slots))
        return seat, slots[number]

    def _ways(self) -> dict[int, int]:
        """Return in how many ways the seat can be dealt each count of the cards that are next."""
        seat, slot = self._place()
        left = self.table["aside"][slot:].tolist()
        same, others, due = left[0], sum(left[1:]), self._due[seat]
        counts = range(max(due - others, 0), min(same, due) + 1)
        return {count: math.comb(same, count) * math.comb(others, due - count) for count in counts}

    def _give(self, count: int) -> None:
        """Deal the seat so many of the cards that are next; after the last ones play begins."""
        game, table, (seat, slot) = self.get_game(), self.table, self._place()
        dealing.give(table, seat, slot, count)
        self._due[seat] -= count
        self._dealt += 1
        if self._dealt < len(self._due) * len(game.slots):
            return
        if dealing.must_redeal(table, game.options):
            self._start_deal()
            return
        dealing.open_deal(table, game.options)
        self._tell(told.of_deal(table, game.num_players(), game.deck))
        self._settle()

    # --- Playing ----------------------------------------------------------------------------------

    def _play(self, action: int) -> None:
        """Play an action; one that is not legal is refused, and changes nothing."""
        game, table, before = self.get_game(), self.table, self._state.copy()[0]
        mask = self._mask()
        if not (0 <= action < len(mask) and mask[action]):
            raise refuse(action, int(table["turn"]), mask)
        apply(table, game.options, action)
        self._rewards = [0.0] * len(self._rewards)
        self._tell(told.of_action(before, action, table, game.num_players(), game.deck))
        self._settle()

    def _tell(self, shown: list[str]) -> None:
        """Add what each seat is shown to what it has seen."""
        both = zip(self.seen, shown, strict=True)
        self.seen = [f"{seen}; {new}" if new else seen for seen, new in both]

    def _settle(self) -> None:
        """Wait for an action; where the deal is over, pay and deal the next, or end the match."""
        table, options = self.table, self.get_game().options
        self._awaits = ACTION
        if table["phase"] != OVER:
            return
        for seat in range(len(self.seen)):
            paid = _exact(table["reward"][seat])
            self._rewards[seat] += paid
            self._returns[seat] += paid
        if dealing.match_over(table, options):
            self._awaits = NOTHING
        else:
            dealing.pass_the_deal(table, options)
            self._start_deal()


class CheatObserver:
    """Shows a seat its observation, or all that it has seen.

    Args:
        layout: `MEMORY`, for information states, or `TABLE`.

    Attributes:
        tensor: float32 (layout.size,), set by `set_from`.
        dict: the tensor by the name of its layout; `cheat_env.observations.view` names its fields
            (for OpenSpiel each name costs time in every call).
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._numbers = np.zeros(layout.size, np.int8)
        self.tensor = np.zeros(layout.size, np.float32)
        self.dict = {layout.name: self.tensor}

    def set_from(self, state: CheatState, player: int) -> None:
        """Write what the seat sees of a state."""
        self.tensor[:] = self._look(state, player)

    def string_from(self, state: CheatState, player: int) -> str:
        """Return all that the seat has seen, or with `TABLE` what it sees now, in words."""
        if self._layout is MEMORY:
            return state.seen[player]
        return words.text(self._look(state, player), state.get_game().deck)

    def _look(self, state: CheatState, player: int) -> NDArray[np.int8]:
        """Return the seat's observation, int8 (layout.size,)."""
        encode(state.table, state.get_game().options, player, self._numbers)
        return self._numbers


def _exact(paid: float) -> float:
    """Return a float32 share of a payment as the float64 that it stands for.

    All shares are fractions of the seats, or of the cards.
    """
    return float(Fraction(float(paid)).limit_denominator(MAX_CARDS))


pyspiel.register_game(_about(deals=1), CheatGame)
