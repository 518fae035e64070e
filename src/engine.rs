//! From options to a network, something that runs it, and a player.

use crate::backend::Backend;
use crate::backend::cpu::Cpu;
use crate::evaluator::Evaluator;
use crate::network::{self, Network, WeightsError};
use crate::search::{Player, policy::Policy};
use crate::uci::{BackendKind, Options, PlayerKind};
use std::borrow::Cow;

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

/// The backend that the options name, with a network to run.
pub fn backend(network: Network, options: &Options) -> Box<dyn Backend> {
    match options.backend {
        BackendKind::Auto | BackendKind::Cpu => {
            Box::new(Cpu::new(network, options.threads as usize))
        }
    }
}

/// The network that the options name, ready to evaluate games.
///
/// # Errors
/// As [`fn@network`].
pub fn evaluator(options: &Options) -> Result<Evaluator, String> {
    let network = network(options)?;
    Ok(Evaluator::new(network.spec.encoding, backend(network, options)))
}

/// The player that the options name, loaded.
///
/// # Errors
/// As [`fn@network`].
pub fn player(options: &Options) -> Result<Box<dyn Player>, String> {
    let evaluator = evaluator(options)?;
    Ok(match options.player {
        PlayerKind::Policy => Box::new(Policy::new(evaluator)),
    })
}
