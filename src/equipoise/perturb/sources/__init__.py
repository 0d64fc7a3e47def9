"""Where replacement words come from: only what implements `Source` lives here, with the protocol itself."""
