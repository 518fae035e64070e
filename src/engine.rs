//! From options to a network, something that runs it, and a player.

use crate::backend::Backend;
use crate::backend::cpu::Cpu;
use crate::backend::cuda::Cuda;
use crate::chess::Game;
use crate::evaluator::Evaluator;
use crate::network::{self, Architecture, Network, WeightsError};
use crate::search::{Player, from_to::FromTo, mcts::Mcts, minimax::Minimax, policy::Policy};
use crate::uci::{BackendKind, Options, PlayerKind};
use std::borrow::Cow;
use std::io::{self, Write};

/// The bytes of the weights file that the options name.
///
/// # Errors
/// In words, when there are none.
pub fn weights(options: &Options) -> Result<Cow<'static, [u8]>, String> {
    let file = &options.weights_file;
    if !file.is_empty() {
        let bytes = network::read(file).map_err(|error| unusable(options, error))?;
        return Ok(bytes.into());
    }
    network::embedded().map(Cow::Borrowed).ok_or_else(|| {
        "this program was built without a network; name a weights file: --weights FILE or the option WeightsFile"
            .to_owned()
    })
}

/// The network that the options name.
///
/// # Errors
/// In words, when its weights are missing or cannot be used.
pub fn network(options: &Options) -> Result<Network, String> {
    Network::from_safetensors(&weights(options)?).map_err(|error| unusable(options, error))
}

/// What the weights are called, for people.
pub fn weights_name(options: &Options) -> &str {
    match options.weights_file.as_str() {
        "" => "built-in network",
        file => file,
    }
}

/// A message about weights that cannot be used.
pub fn unusable(options: &Options, error: WeightsError) -> String {
    format!("{}: {error}", weights_name(options))
}

/// The backend that the options name, with a network to run. Where there is none it is the processor, and a line
/// on standard error says why.
pub fn backend(network: Network, options: &Options) -> Box<dyn Backend> {
    let cuda = match options.backend {
        BackendKind::Auto => Cuda::BUILT,
        BackendKind::Cuda => true,
        BackendKind::Cpu => false,
    };
    if cuda {
        match Cuda::new(&network) {
            Ok(cuda) => return Box::new(cuda),
            Err(error) => {
                // Where standard error is gone there is nobody to be told.
                let _ = writeln!(io::stderr(), "fianchetto: {error}; running on the processor");
            }
        }
    }
    Box::new(Cpu::new(network, options.threads as usize))
}

/// A network that suits the player that the options name.
///
/// # Errors
/// As [`fn@network`], and when the player cannot use such a network.
pub fn suitable_network(options: &Options) -> Result<Network, String> {
    let network = network(options)?;
    match unsuitable(options.player, &network) {
        None => Ok(network),
        Some(problem) => {
            let name = weights_name(options);
            Err(format!("{name}: {problem}: --weights FILE or the option WeightsFile"))
        }
    }
}

/// Why a player cannot use a network.
fn unsuitable(player: PlayerKind, network: &Network) -> Option<&'static str> {
    let scores_squares = matches!(network.spec.architecture, Architecture::SquarePair(_));
    match player {
        PlayerKind::FromTo if !scores_squares => Some(
            "a network that scores moves, expected a pair that scores squares; name the weights of one",
        ),
        PlayerKind::Mcts if scores_squares => Some(
            "a network without values, expected one with a value head; name the weights of one",
        ),
        _ => None,
    }
}

/// The players that can use a network, or need none.
pub fn players(network: &Network) -> Vec<PlayerKind> {
    let mut players = PlayerKind::ALL.to_vec();
    players.retain(|&player| unsuitable(player, network).is_none());
    players
}

/// The network that the options name, ready to evaluate games for the player that they name.
///
/// # Errors
/// As [`suitable_network`] and [`evaluator_of`].
pub fn evaluator(options: &Options) -> Result<Evaluator, String> {
    evaluator_of(suitable_network(options)?, options)
}

/// A network, ready to evaluate games as the options say.
///
/// # Errors
/// When it gives no number for the starting position.
pub fn evaluator_of(network: Network, options: &Options) -> Result<Evaluator, String> {
    let mut evaluator = Evaluator::new(network.spec.encoding, backend(network, options));
    // A backend makes some of what it needs when it is first asked: not on the player's clock.
    evaluator
        .evaluate(&Game::default())
        .map_err(|error| format!("{}: {error}", weights_name(options)))?;
    Ok(evaluator)
}

/// The player that the options name, loaded.
///
/// # Errors
/// As [`suitable_network`].
pub fn player(options: &Options) -> Result<Box<dyn Player>, String> {
    Ok(match options.player {
        PlayerKind::Policy => Box::new(Policy::new(evaluator(options)?)),
        PlayerKind::Mcts => Box::new(Mcts::new(evaluator(options)?)),
        PlayerKind::Minimax => Box::<Minimax>::default(),
        PlayerKind::FromTo => Box::new(FromTo::new(evaluator(options)?)),
    })
}
