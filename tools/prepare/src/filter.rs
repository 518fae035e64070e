//! Which games are wanted.

use crate::game::PlayedGame;
use crate::number::whole;
use crate::pgn::{Date, PLIES_MAX, RawGame, Refusal, Tags};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::str;

/// Which games are wanted. Always: standard chess from the start position, with a result.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[command(next_help_heading = "Which games")]
pub struct Filters {
    /// Both players' ratings are at least this
    #[arg(long, value_name = "RATING", value_parser = whole(0..=u16::MAX))]
    pub min_rating: Option<u16>,
    /// Both players' ratings are at most this
    #[arg(long, value_name = "RATING", value_parser = whole(1..=u16::MAX))]
    pub max_rating: Option<u16>,
    /// Time controls, by base + 40 increments: ultrabullet under 30 s, bullet under 3 min, blitz
    /// under 8 min, rapid under 25 min, classical; or correspondence
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    pub time_control: Vec<TimeClass>,
    /// At least this much time at the start
    #[arg(long, value_name = "SECONDS", value_parser = whole(0..=u32::MAX))]
    pub min_base: Option<u32>,
    /// At most this much time at the start
    #[arg(long, value_name = "SECONDS", value_parser = whole(0..=u32::MAX))]
    pub max_base: Option<u32>,
    /// At least this many plies (half-moves)
    #[arg(long, value_name = "PLIES", value_parser = whole(0..=PLIES_MAX))]
    pub min_plies: Option<usize>,
    /// At most this many plies (half-moves)
    #[arg(long, value_name = "PLIES", value_parser = whole(1..=PLIES_MAX))]
    pub max_plies: Option<usize>,
    /// Played on this date or later: YYYY, YYYY-MM or YYYY-MM-DD. A game's unknown month or day
    /// excludes nothing, an unknown year does
    #[arg(long, value_name = "DATE", value_parser = date)]
    pub since: Option<Date>,
    /// Played on this date or earlier, as for --since
    #[arg(long, value_name = "DATE", value_parser = date)]
    pub until: Option<Date>,
}

/// How much time a game gives, as Lichess divides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lower")]
#[allow(missing_docs)]
pub enum TimeClass {
    UltraBullet,
    Bullet,
    Blitz,
    Rapid,
    Classical,
    Correspondence,
}

impl Filters {
    /// Whether any game can be wanted.
    ///
    /// # Errors
    /// Which bounds exclude each other, and what to do.
    pub fn check(&self) -> Result<(), String> {
        let ratings = [self.min_rating, self.max_rating].map(|bound| bound.map(u64::from));
        let bases = [self.min_base, self.max_base].map(|bound| bound.map(u64::from));
        let plies = [self.min_plies, self.max_plies].map(|bound| bound.map(|plies| plies as u64));
        for (name, bounds) in [("rating", ratings), ("base", bases), ("plies", plies)] {
            if let [Some(min), Some(max)] = bounds
                && min > max
            {
                return Err(format!(
                    "--min-{name} {min} is above --max-{name} {max}, so no game fits; expected \
                     --min-{name} to be the lower: exchange them or leave one away"
                ));
            }
        }
        match (self.since, self.until) {
            (Some(since), Some(until)) if is_before(until, since) => Err(format!(
                "--since {since} is after --until {until}, so no game fits; expected --since to be \
                 the earlier: exchange them or leave one away"
            )),
            _ => Ok(()),
        }
    }

    /// Plays a game through if it is wanted. What the tags rule out is not played through.
    ///
    /// # Errors
    /// When the game is not wanted, or not in order.
    pub fn resolve(&self, game: &RawGame) -> Result<PlayedGame, Refusal> {
        self.accepts_tags(&game.tags()?)?;
        let game = game.resolve()?;
        self.accepts_plies(game.moves.len())?;
        Ok(game)
    }

    /// Whether a game of these tags is wanted.
    ///
    /// # Errors
    /// Why it is not.
    pub fn accepts_tags(&self, tags: &Tags<'_>) -> Result<(), Refusal> {
        tags.require_standard()?;
        if self.min_rating.is_some() || self.max_rating.is_some() {
            let bounds = self.min_rating.unwrap_or(1).max(1)..=self.max_rating.unwrap_or(u16::MAX);
            if !tags.ratings.iter().all(|rating| bounds.contains(rating)) {
                return Err(Refusal::Rating);
            }
        }
        if !self.time_is_wanted(tags.time_control) {
            return Err(Refusal::TimeControl);
        }
        if self.since.is_some() || self.until.is_some() {
            let early = self.since.is_some_and(|since| is_before(tags.date, since));
            let late = self.until.is_some_and(|until| is_before(until, tags.date));
            if tags.date.year == 0 || early || late {
                return Err(Refusal::Date);
            }
        }
        Ok(())
    }

    fn accepts_plies(&self, plies: usize) -> Result<(), Refusal> {
        let bounds = self.min_plies.unwrap_or(0)..=self.max_plies.unwrap_or(usize::MAX);
        if bounds.contains(&plies) { Ok(()) } else { Err(Refusal::Plies) }
    }

    fn time_is_wanted(&self, text: &[u8]) -> bool {
        let by_base = self.min_base.is_some() || self.max_base.is_some();
        if self.time_control.is_empty() && !by_base {
            return true;
        }
        let Some((class, base)) = time_control(text) else {
            return false;
        };
        let bounds = self.min_base.unwrap_or(0)..=self.max_base.unwrap_or(u32::MAX);
        (self.time_control.is_empty() || self.time_control.contains(&class))
            && (!by_base || bounds.contains(&base))
    }
}

/// Class and seconds at the start of a `TimeControl`: `300`, `300+3`, `40/7200:3600+30` (periods),
/// `1/259200` or `-` (correspondence).
fn time_control(text: &[u8]) -> Option<(TimeClass, u32)> {
    let text = str::from_utf8(text.trim_ascii()).ok()?;
    if text == "-" {
        return Some((TimeClass::Correspondence, u32::MAX));
    }
    let (mut base, mut increment, mut first) = (0u32, 0u32, None);
    for period in text.split(':') {
        let (moves, time) = period.split_once('/').unwrap_or(("", period));
        let (seconds, added) = time.split_once('+').unwrap_or((time, "0"));
        let seconds: u32 = seconds.parse().ok()?;
        if moves == "1" {
            return Some((TimeClass::Correspondence, seconds));
        }
        increment = increment.max(added.parse().ok()?);
        base = base.saturating_add(seconds);
        first.get_or_insert(seconds);
    }
    let class = match base.saturating_add(increment.saturating_mul(40)) {
        0..30 => TimeClass::UltraBullet,
        30..180 => TimeClass::Bullet,
        180..480 => TimeClass::Blitz,
        480..1500 => TimeClass::Rapid,
        1500.. => TimeClass::Classical,
    };
    Some((class, first?))
}

/// Whether all of `one` that is known is before what is known of `other`.
fn is_before(one: Date, other: Date) -> bool {
    for (one, other) in [(one.year, other.year), (one.month, other.month), (one.day, other.day)] {
        if one == 0 || other == 0 {
            return false;
        }
        if one != other {
            return one < other;
        }
    }
    false
}

fn date(text: &str) -> Result<Date, String> {
    let date = Date::read(text.as_bytes());
    let parts = text.split(['-', '.', '/']).count();
    let known = [date.year, date.month, date.day].iter().take_while(|&&part| part > 0).count();
    if known == parts && (1000..=9999).contains(&date.year) && date.is_possible() {
        Ok(date)
    } else {
        Err("expected a date of the calendar as YYYY, YYYY-MM or YYYY-MM-DD, such as 2016-05"
            .to_owned())
    }
}
