"""The settings of the four queries: where the challenge leaves a choice, or where a number might be another one."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Rules:
    """Numbers that are put into the scripts. Lengths are millimetres, as in the data.

    `slack_ms` is how far out of order events may be. The field and the goals come first, then what each query needs.
    """

    slack_ms: int = 100
    x_low: int = 0
    x_high: int = 52_483
    y_low: int = -33_960
    y_high: int = 33_965
    goal_1_y: float = 33_941.0
    goal_1_left: float = 22_578.5
    goal_1_right: float = 29_898.5
    goal_2_y: float = -33_968.0
    goal_2_left: float = 22_560.0
    goal_2_right: float = 29_880.0
    goal_bar: float = 2_440.0
    a_attacks_goal_1_in_half: int = 1
    """Teams swap sides, so this says who attacks what in both halves."""

    window_1_minutes: int = 1
    window_2_minutes: int = 5
    window_3_minutes: int = 20
    """The windows of q1 and q2; the fourth is the whole game."""
    heat_window_3_minutes: int = 10
    """The third window of q3; the others are those of q1 and q2."""

    standing_kmh: float = 1.0
    trot_kmh: float = 11.0
    low_kmh: float = 14.0
    medium_kmh: float = 17.0
    high_kmh: float = 24.0
    """Where a class of intensity ends; what is faster is a sprint."""
    lasting_seconds: float = 1.0
    """A class that is held for less is not counted alone."""

    hit_acceleration: float = 55.0
    """The least acceleration of the ball in a hit, in m/s^2."""
    hit_distance: float = 1_000.0
    """A player's sensor is nearer to the ball than this in a hit."""
    hit_pause_ms: int = 200
    """A player does not hit the ball a second time within this."""
    hit_near_ms: int = 5
    """So far in time a reading of a player may be from the hit."""
    ball_gone_ms: int = 50
    """Without a reading in play for longer than this, the ball is nobody's."""
    ball_step_ms: int = 10
    """So often it is looked at whether the ball is there."""
    possession_every_seconds: int = 10
    """How often q2 tells its results."""

    off_field_counts: int = 1
    """Whether q3 counts readings off the field, in the nearest cell (1), or leaves them out (0)."""

    shot_travel: float = 1_000.0
    """How far the ball has to go before it can be a shot."""
    shot_seconds: float = 1.5
    """A shot would cross the line of the goal within this."""
    shot_gravity: float = 9_810.0
    """What the projection falls by, in mm/s^2; 0 makes it a straight line."""
    shot_margin: float = 0.0
    """How far beside a post a projection still counts."""
    shot_gap_ms: int = 10
    """A shot is over when the projection has missed the goal for longer than this."""

    def literals(self) -> dict[str, str]:
        """The settings as ESL writes numbers: those with a point as DOUBLE, which a point alone would not make.

        >>> Rules().literals()["shot_seconds"], Rules().literals()["y_low"]
        ('1.5e0', '-33960')
        """
        return {name: str(n) if isinstance(n, int) else f"{n!r}e0" for name, n in asdict(self).items()}
