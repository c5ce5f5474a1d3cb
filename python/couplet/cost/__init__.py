"""The communication cost of a machine: fit a model to a measurement, predict exchanges, place processes.

    model = load_model("tachyon1.json")
    one = predict(model, Tiles(4, 4), (4, 4, 2, 2, 1, 1, 1, 1))
    one.orders["intra_first"].cost          # seconds, as an exact fraction
    place(model, Tiles(4, 4), one.node_set).orders["intra_first"].node_set

Guide: docs/guide/predicting-and-placing.md; files: docs/formats/cost.md. Nothing here needs a running universe.
"""

from couplet.cost.errors import CostError, DesignError, DocumentError, OtherMachineWarning, SchemaVersionError
from couplet.cost.fit import Fitted, Options, fit_measurement
from couplet.cost.measurement import Cell, Measurement, load_measurement
from couplet.cost.model import ORDERS, Curve, Fit, Model, Piece, load_model
from couplet.cost.patterns import Matrix, Pattern, Tiles, Traffic, parse_tiles, read_matrix
from couplet.cost.placement import Placement, Result, place
from couplet.cost.prediction import Iterations, Prediction, parse_node_set, predict, rank
from couplet.cost.recorded import Recorded, read_recorded
from couplet.cost.speeds import Host, read_hosts, split_cells, spread_processes

__all__ = [
    "ORDERS",
    "Cell",
    "CostError",
    "Curve",
    "DesignError",
    "DocumentError",
    "Fit",
    "Fitted",
    "Host",
    "Iterations",
    "Matrix",
    "Measurement",
    "Model",
    "Options",
    "OtherMachineWarning",
    "Pattern",
    "Piece",
    "Placement",
    "Prediction",
    "Recorded",
    "Result",
    "SchemaVersionError",
    "Tiles",
    "Traffic",
    "fit_measurement",
    "load_measurement",
    "load_model",
    "parse_node_set",
    "parse_tiles",
    "place",
    "predict",
    "rank",
    "read_hosts",
    "read_matrix",
    "read_recorded",
    "split_cells",
    "spread_processes",
]
