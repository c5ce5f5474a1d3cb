"""What each MPI call takes, and the names of MPI's constants and types in Couplet.

The arguments of the ported calls (couplet_ported.h, module couplet_ported) are MPI's, in MPI's order, so that a role
for each argument is all that is needed. Tests: tests/convert.
"""

from __future__ import annotations

# Roles: comm, newcomm, request, requests, status, statuses, type, types, newtype, op, rank and tag are things that have
# another type or other constants in Couplet. "-" is a value or a buffer that stays what it is.
_TABLE = """
send:             - - type rank tag comm
rsend:            - - type rank tag comm
recv:             - - type rank tag comm status
isend:            - - type rank tag comm request
irsend:           - - type rank tag comm request
irecv:            - - type rank tag comm request
wait:             request status
waitall:          - requests statuses
waitany:          - requests - status
waitsome:         - requests - - statuses
test:             request - status
testall:          - requests - statuses
testany:          - requests - - status
sendrecv:         - - type rank tag - - type rank tag comm status
sendrecv_replace: - - type rank tag rank tag comm status
probe:            rank tag comm status
iprobe:           rank tag comm - status
get_count:        status type -
barrier:          comm
bcast:            - - type - comm
reduce:           - - - type op - comm
allreduce:        - - - type op comm
scan:             - - - type op comm
gather:           - - type - - type - comm
gatherv:          - - type - - - type - comm
allgather:        - - type - - type comm
allgatherv:       - - type - - - type comm
scatter:          - - type - - type - comm
scatterv:         - - - type - - type - comm
alltoall:         - - type - - type comm
alltoallv:        - - - type - - - type comm
reduce_scatter:   - - - type op comm
comm_rank:        comm -
comm_size:        comm -
comm_split:       comm - - newcomm
comm_dup:         comm newcomm
comm_free:        comm
type_contiguous:            - type newtype
type_vector:                - - - type newtype
type_create_hvector:        - - - type newtype
type_indexed:               - - - type newtype
type_create_indexed_block:  - - - type newtype
type_create_hindexed:       - - - type newtype
type_create_hindexed_block: - - - type newtype
type_create_struct:         - - - types newtype
type_create_subarray:       - - - - - type newtype
type_create_resized:        type - - newtype
type_dup:                   type newtype
type_commit:                type
type_free:                  type
type_size:                  type -
type_get_extent:            type - -
"""
# The collective calls that also have a form that does not wait.
_WITH_REQUEST = (
    "barrier", "bcast", "reduce", "allreduce", "scan", "gather", "gatherv", "allgather", "allgatherv", "scatter",
    "scatterv", "alltoall", "alltoallv", "reduce_scatter",
)  # fmt: skip


def _read_table() -> dict[str, tuple[str, ...]]:
    table = {}
    for line in _TABLE.strip().splitlines():
        name, roles = line.split(":")
        table[f"mpi_{name}"] = tuple(roles.split())
    for name in _WITH_REQUEST:
        table[f"mpi_i{name}"] = (*table[f"mpi_{name}"], "request")
    return table


ROLES = _read_table()
PORTED = {name: "couplet_ported_" + name.removeprefix("mpi_") for name in ROLES} | {
    "mpi_rsend": "couplet_ported_send",
    "mpi_irsend": "couplet_ported_isend",
}

# The calls that send and receive items of datatypes that were made (mpi_type_vector, ...).
TAKES_MADE_TYPES = frozenset(
    {"mpi_send", "mpi_rsend", "mpi_recv", "mpi_isend", "mpi_irsend", "mpi_irecv", "mpi_sendrecv", "mpi_get_count"}
    | {name for name in ROLES if name.startswith("mpi_type_")}
)

# Calls that begin and end a program, or belong to none of the communicators: they stay MPI if MPI stays.
PROCESS_CALLS = {
    "mpi_init": "couplet_ported_init",
    "mpi_init_thread": "couplet_ported_init_thread",
    "mpi_finalize": "couplet_ported_finalize",
    "mpi_initialized": "couplet_ported_initialized",
    "mpi_abort": "couplet_ported_abort",
    "mpi_wtime": "couplet_ported_wtime",
    "mpi_get_address": "couplet_ported_get_address",
    "mpi_aint_add": "couplet_ported_aint_add",
    "mpi_aint_diff": "couplet_ported_aint_diff",
}

# The calls that MPI_IN_PLACE may be given to.
COLLECTIVE_CALLS = frozenset(f"mpi_{form}{name}" for name in _WITH_REQUEST[1:] for form in ("", "i"))
_IN_PLACE = {
    "mpi_alltoall", "mpi_ialltoall", "mpi_alltoallv", "mpi_ialltoallv", "mpi_reduce_scatter", "mpi_ireduce_scatter",
}  # fmt: skip
NOT_IN_PLACE = frozenset(_IN_PLACE)

_NOT_THERE = (
    ("mpi_type_", "Couplet has no such datatype: make it of vectors, blocks or a structure, or send the elements"),
    ("mpi_type_hvector", "MPI 3 no longer has it: use MPI_Type_create_hvector"),
    ("mpi_type_hindexed", "MPI 3 no longer has it: use MPI_Type_create_hindexed"),
    ("mpi_type_struct", "MPI 3 no longer has it: use MPI_Type_create_struct"),
    ("mpi_type_extent", "MPI 3 no longer has it: use MPI_Type_get_extent"),
    ("mpi_type_lb", "MPI 3 no longer has it: use MPI_Type_get_extent"),
    ("mpi_type_ub", "MPI 3 no longer has it: use MPI_Type_get_extent"),
    ("mpi_address", "MPI 3 no longer has it: use MPI_Get_address"),
    ("mpi_pack", "packed messages: send the elements, as an array of one type each"),
    ("mpi_unpack", "packed messages: receive the elements, as an array of one type each"),
    ("mpi_win_", "one-sided communication: use messages, or an area of Couplet"),
    ("mpi_put", "one-sided communication: use messages, or an area of Couplet"),
    ("mpi_get_accumulate", "one-sided communication: use messages, or an area of Couplet"),
    ("mpi_accumulate", "one-sided communication: use messages, or an area of Couplet"),
    ("mpi_file_", "MPI-IO: keep it on a communicator that stays MPI"),
    ("mpi_cart", "topologies: compute the neighbours' ranks in the program"),
    ("mpi_graph", "topologies: compute the neighbours' ranks in the program"),
    ("mpi_dist_graph", "topologies: compute the neighbours' ranks in the program"),
    ("mpi_neighbor", "neighbourhood collectives: exchange messages with the neighbours"),
    ("mpi_ineighbor", "neighbourhood collectives: exchange messages with the neighbours"),
    ("mpi_dims_create", "topologies: compute the neighbours' ranks in the program"),
    ("mpi_start", "persistent requests: start the message with isend or irecv in each step"),
    ("mpi_op_", "operations of user code: use couplet_operation_create of the C interface"),
    ("mpi_group", "groups of MPI: make a group with universe%create_group or couplet_group_create"),
    ("mpi_comm_group", "groups of MPI: make a group with universe%create_group or couplet_group_create"),
    ("mpi_comm_create", "groups of MPI: make a group with universe%create_group or couplet_group_create"),
    ("mpi_comm_spawn", "dynamic processes: start the other program with couplet run"),
    ("mpi_intercomm", "intercommunicators: a group of Couplet may have ranks of several programs"),
    ("mpi_comm_split_type", "shared memory: keep it on a communicator that stays MPI"),
    ("mpi_comm_set_errhandler", "error handlers: the ported calls end the run at an error"),
    ("mpi_errhandler", "error handlers: the ported calls end the run at an error"),
    ("mpi_ssend", "synchronous sends: a send of Couplet does not say that the receive has begun"),
    ("mpi_issend", "synchronous sends: a send of Couplet does not say that the receive has begun"),
    ("mpi_bsend", "buffered sends: use isend, and keep the array until the request is complete"),
    ("mpi_ibsend", "buffered sends: use isend, and keep the array until the request is complete"),
    ("mpi_cancel", "requests of Couplet cannot be cancelled"),
    ("mpi_request_free", "wait for the request instead"),
    ("mpi_exscan", "use scan, and subtract the own part"),
    ("mpi_iexscan", "use scan, and subtract the own part"),
    ("mpi_mprobe", "use probe and recv"),
    ("mpi_improbe", "use iprobe and recv"),
    ("mpi_comm_f2c", "a communicator between C and Fortran: take couplet_world in each language"),
    ("mpi_comm_c2f", "a communicator between C and Fortran: take couplet_world in each language"),
    ("mpi_get_processor_name", "use gethostname, which Fortran can call by an interface with bind(c)"),
    ("mpi_reduce_scatter_block", "use MPI_Reduce_scatter, with a count for each rank"),
    ("mpi_ireduce_scatter_block", "use MPI_Ireduce_scatter, with a count for each rank"),
    ("mpi_reduce_local", "combine the elements in a loop"),
    ("mpi_alltoallw", "send messages, one to each rank"),
    ("mpi_ialltoallw", "send messages, one to each rank"),
    ("mpi_testsome", "use MPI_Testany or MPI_Testall"),
    ("mpi_request_get_status", "use MPI_Test"),
    ("mpi_get_elements", "use MPI_Get_count"),
    ("mpi_comm_idup", "use MPI_Comm_dup"),
    ("mpi_comm_compare", "compare what the program knows of the two communicators"),
    ("mpi_comm_set_name", "names of communicators: remove the call"),
    ("mpi_comm_get_name", "names of communicators: remove the call"),
    ("mpi_comm_get_attr", "attributes: keep the value in a variable of the program"),
    ("mpi_comm_set_attr", "attributes: keep the value in a variable of the program"),
    ("mpi_comm_create_keyval", "attributes: keep the value in a variable of the program"),
    ("mpi_attr_", "attributes: keep the value in a variable of the program"),
    ("mpi_info_", "hints to MPI: remove the call, and what is given the hints"),
    ("mpi_error_", "the ported calls end the run at an error: remove the call"),
    ("mpi_query_thread", "keep the level that MPI_Init_thread has provided in a variable"),
    ("mpi_is_thread_main", "compare omp_get_thread_num() with 0"),
    ("mpi_finalized", "keep in a variable whether MPI_Finalize was called"),
    ("mpi_wtick", "the clock of MPI_Wtime counts nanoseconds: use 1e-9"),
    ("mpi_alloc_mem", "use malloc or allocate"),
    ("mpi_free_mem", "use free or deallocate"),
    ("mpi_get_version", "the version of MPI: remove the call"),
    ("mpi_get_library_version", "the version of MPI: remove the call"),
    ("mpi_pcontrol", "profiling: remove the call"),
)
_ONE_SIDED = ("mpi_get", "mpi_rget", "mpi_rput", "mpi_fetch_and_op", "mpi_compare_and_swap")


def why_not(name: str) -> str:
    """Says why a call cannot be converted, and what to do by hand."""
    if name.endswith("_init") and name != "mpi_init":
        return "persistent requests: start the message with isend or irecv in each step"
    if name in _ONE_SIDED:
        return why_not("mpi_put")
    for prefix, reason in sorted(_NOT_THERE, key=lambda each: -len(each[0])):
        if name.startswith(prefix):
            return reason
    return "Couplet has no such call: write it with messages and collective calls"


def why_no_type(name: str, language: str) -> str:
    """Says that Couplet has not a datatype of MPI, and what to do by hand."""
    fortran = language == "fortran"
    if name in _MIXED_PAIRS:
        pair = "MPI_2INTEGER" if fortran else "MPI_2INT"
        advice = f"put value and index into a pair of one type, such as MPI_2DOUBLE_PRECISION or {pair}"
    elif name == "MPI_PACKED":
        advice = "send the elements, as an array of one type each"
    else:
        plain = "MPI_DOUBLE_PRECISION" if fortran else "MPI_DOUBLE"
        advice = f"use one that it has, such as {plain}, or MPI_BYTE if nothing is computed with it"
    return f"Couplet has no type {name}: {advice}"


def why_no_operation(name: str) -> str:
    """Says that Couplet has not an operation of MPI, and what to do by hand."""
    return f"Couplet has no operation {name}: use one of MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_MINLOC and the like"


_MIXED_PAIRS = frozenset({"MPI_DOUBLE_INT", "MPI_FLOAT_INT", "MPI_LONG_INT", "MPI_SHORT_INT", "MPI_LONG_DOUBLE_INT"})
PAIR_TYPES = frozenset({"MPI_2INT", "MPI_2INTEGER", "MPI_2REAL", "MPI_2DOUBLE_PRECISION"})
FORTRAN_TYPES = {
    "MPI_INTEGER": "couplet_int32", "MPI_INTEGER1": "couplet_int8", "MPI_INTEGER2": "couplet_int16",
    "MPI_INTEGER4": "couplet_int32", "MPI_INTEGER8": "couplet_int64", "MPI_REAL": "couplet_real32",
    "MPI_REAL4": "couplet_real32", "MPI_REAL8": "couplet_real64", "MPI_DOUBLE_PRECISION": "couplet_real64",
    "MPI_COMPLEX": "couplet_complex32", "MPI_COMPLEX8": "couplet_complex32", "MPI_COMPLEX16": "couplet_complex64",
    "MPI_DOUBLE_COMPLEX": "couplet_complex64", "MPI_LOGICAL": "couplet_int32", "MPI_CHARACTER": "couplet_byte",
    "MPI_BYTE": "couplet_byte", "MPI_2INTEGER": "couplet_pair_int32", "MPI_2REAL": "couplet_pair_real32",
    "MPI_2DOUBLE_PRECISION": "couplet_pair_real64", "MPI_INT": "couplet_int32", "MPI_DOUBLE": "couplet_real64",
    "MPI_FLOAT": "couplet_real32", "MPI_INT32_T": "couplet_int32", "MPI_INT64_T": "couplet_int64",
}  # fmt: skip
C_TYPES = {
    "MPI_CHAR": "COUPLET_INT8", "MPI_SIGNED_CHAR": "COUPLET_INT8", "MPI_UNSIGNED_CHAR": "COUPLET_UINT8",
    "MPI_SHORT": "COUPLET_INT16", "MPI_UNSIGNED_SHORT": "COUPLET_UINT16", "MPI_INT": "COUPLET_INT32",
    "MPI_UNSIGNED": "COUPLET_UINT32", "MPI_LONG": "COUPLET_PORTED_LONG",
    "MPI_UNSIGNED_LONG": "COUPLET_PORTED_UNSIGNED_LONG", "MPI_LONG_LONG": "COUPLET_INT64",
    "MPI_LONG_LONG_INT": "COUPLET_INT64", "MPI_UNSIGNED_LONG_LONG": "COUPLET_UINT64", "MPI_INT8_T": "COUPLET_INT8",
    "MPI_INT16_T": "COUPLET_INT16", "MPI_INT32_T": "COUPLET_INT32", "MPI_INT64_T": "COUPLET_INT64",
    "MPI_UINT8_T": "COUPLET_UINT8", "MPI_UINT16_T": "COUPLET_UINT16", "MPI_UINT32_T": "COUPLET_UINT32",
    "MPI_UINT64_T": "COUPLET_UINT64", "MPI_FLOAT": "COUPLET_FLOAT", "MPI_DOUBLE": "COUPLET_DOUBLE",
    "MPI_C_FLOAT_COMPLEX": "COUPLET_COMPLEX_FLOAT", "MPI_C_COMPLEX": "COUPLET_COMPLEX_FLOAT",
    "MPI_C_DOUBLE_COMPLEX": "COUPLET_COMPLEX_DOUBLE", "MPI_BYTE": "COUPLET_BYTE", "MPI_C_BOOL": "COUPLET_UINT8",
    "MPI_2INT": "COUPLET_PAIR_INT32", "MPI_2INTEGER": "COUPLET_PAIR_INT32",
    "MPI_2REAL": "(COUPLET_PAIRS + COUPLET_FLOAT)", "MPI_2DOUBLE_PRECISION": "(COUPLET_PAIRS + COUPLET_DOUBLE)",
}  # fmt: skip
_OPERATIONS = {
    "SUM": "sum", "PROD": "product", "MAX": "max", "MIN": "min", "LAND": "logical_and", "LOR": "logical_or",
    "LXOR": "logical_xor", "BAND": "bitwise_and", "BOR": "bitwise_or", "BXOR": "bitwise_xor", "MAXLOC": "maxloc",
    "MINLOC": "minloc",
}  # fmt: skip
OPERATIONS = frozenset(f"MPI_{name}" for name in _OPERATIONS)
_THREADS = ("SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE")

FORTRAN_CONSTANTS = (
    FORTRAN_TYPES
    | {f"MPI_{name}": f"couplet_operation_{ours}" for name, ours in _OPERATIONS.items()}
    | {
        "MPI_COMM_WORLD": "couplet_world", "MPI_COMM_NULL": "couplet_null_group", "MPI_PROC_NULL": "couplet_null_rank",
        "MPI_ANY_SOURCE": "couplet_any_source", "MPI_ANY_TAG": "couplet_any_tag", "MPI_IN_PLACE": "couplet_in_place",
        "MPI_REQUEST_NULL": "couplet_null_request", "MPI_UNDEFINED": "couplet_undefined", "MPI_SUCCESS": "couplet_ok",
        "MPI_DATATYPE_NULL": "couplet_null_type", "MPI_ORDER_C": "couplet_order_c",
        "MPI_ORDER_FORTRAN": "couplet_order_fortran", "MPI_ADDRESS_KIND": "couplet_address_kind",
    }
)  # fmt: skip
C_CONSTANTS = (
    C_TYPES
    | {f"MPI_{name}": f"COUPLET_OPERATION_{ours.upper()}" for name, ours in _OPERATIONS.items()}
    | {
        "MPI_COMM_WORLD": "couplet_world", "MPI_COMM_NULL": "NULL", "MPI_PROC_NULL": "COUPLET_NULL_RANK",
        "MPI_ANY_SOURCE": "COUPLET_ANY_SOURCE", "MPI_ANY_TAG": "COUPLET_ANY_TAG", "MPI_IN_PLACE": "COUPLET_IN_PLACE",
        "MPI_REQUEST_NULL": "NULL", "MPI_UNDEFINED": "COUPLET_UNDEFINED", "MPI_SUCCESS": "COUPLET_OK",
        "MPI_STATUS_IGNORE": "NULL", "MPI_STATUSES_IGNORE": "NULL", "MPI_DATATYPE_NULL": "COUPLET_NULL_TYPE",
        "MPI_ORDER_C": "COUPLET_ORDER_C", "MPI_ORDER_FORTRAN": "COUPLET_ORDER_FORTRAN",
    }
)  # fmt: skip
# Constants of programs without MPI only.
FORTRAN_PROCESS_CONSTANTS = {f"MPI_THREAD_{name}": f"couplet_thread_{name.lower()}" for name in _THREADS}
C_PROCESS_CONSTANTS = {f"MPI_THREAD_{name}": f"COUPLET_THREAD_{name}" for name in _THREADS}
# They have the same meaning in both or, like a level of threads, are in no message: they stay as long as MPI does.
NEUTRAL = frozenset({"MPI_SUCCESS", "MPI_UNDEFINED", "MPI_ADDRESS_KIND", *C_PROCESS_CONSTANTS})
IGNORED_STATUS = frozenset({"MPI_STATUS_IGNORE", "MPI_STATUSES_IGNORE"})
STATUS_FIELDS = {"MPI_SOURCE": "source", "MPI_TAG": "tag"}
FORTRAN_HANDLES = {"comm": "type(couplet_group)", "request": "type(couplet_request)", "status": "type(couplet_message)"}
C_HANDLE_TYPES = {
    "MPI_Comm": "couplet_ported_comm", "MPI_Request": "couplet_ported_request", "MPI_Status": "couplet_message",
    "MPI_Datatype": "couplet_type", "MPI_Op": "couplet_operation", "MPI_Aint": "ptrdiff_t",
}  # fmt: skip
