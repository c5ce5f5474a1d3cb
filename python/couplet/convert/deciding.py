"""Decides which calls are converted, and says why others are not. Tests: tests/convert."""

from __future__ import annotations

from dataclasses import replace

from couplet.convert.calls import (
    C_CONSTANTS,
    FORTRAN_CONSTANTS,
    NOT_IN_PLACE,
    PAIR_TYPES,
    PROCESS_CALLS,
    ROLES,
    TAKES_MADE_TYPES,
    why_no_operation,
    why_no_type,
    why_not,
)
from couplet.convert.constants import Constants
from couplet.convert.model import Call, Constant, Facts, Finding, Options, Passed, Symbol, Use

_HANDLES = ("comm", "newcomm", "request", "requests", "status", "statuses", "type", "types", "newtype", "op")
_SPECIAL = ("comm", "request", "status")  # their variables get another type
_UNTOUCHED = ("mpi_comm_rank", "mpi_comm_size")


class Decision:
    """What is converted, and the problems that stay."""

    def __init__(self, facts: Facts, options: Options) -> None:
        self.facts = facts
        self.options = options
        self.names = {name.lower() for name in options.communicators}
        self.problems: list[Finding] = list(facts.problems)
        self.notes: list[Finding] = list(facts.notes)
        self.dropped_statuses: set[Symbol] = set()
        self.not_made: list[tuple[Symbol, Use]] = []  # what calls would have made that could not be converted
        self.kept: list[tuple[Call, Use]] = []  # the calls that stay MPI because of what they use
        self._unite_arguments()

    # ---- classes ----

    def _unite_arguments(self) -> None:
        """Unites actual arguments with dummies, and the same dummies of several bodies (interfaces)."""
        for bodies in self.facts.dummies.values():
            for other in bodies[1:]:
                if len(other) == len(bodies[0]):
                    for first, second in zip(bodies[0], other, strict=True):
                        first.unite(second)
        for passed in self.facts.passed:
            for actual, dummy in self._pairs(passed):
                if isinstance(actual, Symbol):
                    actual.unite(dummy)
                    continue
                for constant in self.facts.constants:
                    if constant.node == actual.node and constant.source is actual.source:
                        if constant.symbol is not None:
                            constant.symbol.unite(dummy)
                        constant.symbol = dummy

    def _pairs(self, passed: Passed) -> list[tuple[Symbol | Constant, Symbol]]:
        found: list[tuple[Symbol | Constant, Symbol]] = []
        for name in self._procedures(passed.name):
            dummies = self.facts.dummies[name][0]
            shift = int(passed.bound and passed.count < len(dummies))
            for (keyword, actual), position in zip(passed.arguments, passed.positions, strict=True):
                if keyword is not None:
                    found += [(actual, dummy) for dummy in dummies if dummy.name.lower() == keyword]
                elif position + shift < len(dummies):
                    found.append((actual, dummies[position + shift]))
        return found

    def _procedures(self, name: str) -> set[str]:
        """Returns the procedures that a name may mean: itself, or those of a generic name or a binding."""
        found, left, seen = set(), [name], set()
        while left:
            each = left.pop()
            if each in seen:
                continue
            seen.add(each)
            if self.facts.dummies.get(each):
                found.add(each)
            left += self.facts.aliases.get(each, ())
        return found

    # ---- which calls are chosen ----

    def decide(self) -> None:
        """Finds the calls of the chosen communicators, and everything that follows."""
        for symbol in self.facts.symbols:
            if symbol.name.lower() in self.names:
                symbol.root().uses["couplet"].append(Use("--communicator", "", 0))
        for constant in self.facts.constants:
            if constant.name.lower() in self.names and constant.symbol is not None:
                self._mark(constant.symbol, "couplet", Use(constant.name, str(constant.source.path), 0))
        if self.options.without_mpi:
            self._give_null_handles()
        while True:
            newly = [call for call in self.facts.calls if not call.chosen and self._is_chosen(call)]
            if not newly:
                break
            for call in newly:
                self._choose(call)
        for call in self.facts.calls:
            if not call.chosen and self._maker_of(call) is None:
                self._keep(call)
        self._follow_fields()
        self._settle_statuses()
        for call in self.facts.calls:
            if call.chosen and call.problem is None:
                call.problem = self._mixed_reason(call) or self._other_reason(call)
        for call in self.facts.calls:
            if call.problem is not None:
                self._report(call, call.problem)
        self._look_at_kept_communicators()
        self.constants = Constants(self.facts, self.kept, self.options.without_mpi)

    def _give_null_handles(self) -> None:
        """Without MPI, a variable that is only set to no request, communicator or datatype changes its type, too."""
        roles = {"MPI_REQUEST_NULL": "request", "MPI_COMM_NULL": "comm", "MPI_DATATYPE_NULL": "type"}
        for constant in self.facts.constants:
            role = roles.get(constant.name)
            if role is not None and constant.symbol is not None:
                self._give_role(constant.symbol, role)
                self._mark(constant.symbol, "couplet", Use(constant.name, str(constant.source.path), 0))

    def _is_chosen(self, call: Call) -> bool:
        comms = call.of_role("comm")
        if call.name in ("mpi_comm_dup", "mpi_comm_split"):
            made = call.of_role("newcomm")
            if made and made[0].symbol is not None and made[0].symbol.is_couplet:
                return True
        if comms:
            return self._stands_for_group(comms[0].constant, comms[0].symbol)
        handles = call.of_role("request", "requests") or (
            call.of_role("status") if call.name == "mpi_get_count" else []
        )
        if handles:
            return any(each.symbol is not None and each.symbol.is_couplet for each in handles)
        if call.name.startswith("mpi_type_") and call.name in ROLES:
            return self.options.without_mpi or self._is_of_couplet(call)
        if call.name in PROCESS_CALLS or call.name in ROLES:
            return False
        return any(self._is_ours(argument.constant, argument.symbol) for argument in call.arguments)

    @staticmethod
    def _is_of_couplet(call: Call) -> bool:
        """Whether a datatype that a call makes, uses, prepares or frees is that of a message of Couplet.

        What is made of such a datatype is Couplet's, too: MPI has no datatype of which it could make it.
        """
        handles = call.of_role("newtype", "type", "types")
        return any(each.symbol is not None and each.symbol.is_couplet for each in handles)

    def _is_ours(self, constant: str | None, symbol: Symbol | None) -> bool:
        """Whether an argument of an unknown call is the communicator, or a request that Couplet would have made."""
        if constant is not None:
            return constant.lower() in self.names
        if symbol is None or not symbol.is_couplet:
            return False
        return bool(symbol.root().roles & {"comm", "request"}) or symbol.name.lower() in self.names

    def _stands_for_group(self, constant: str | None, symbol: Symbol | None) -> bool:
        if constant is not None:
            return constant.lower() in self.names
        return symbol is not None and symbol.is_couplet

    def _choose(self, call: Call) -> None:
        call.chosen = True
        if call.name not in ROLES:
            call.problem = why_not(call.name)
            self.not_made += [(each.symbol, self._use(call)) for each in call.arguments if each.symbol is not None]
            return
        use = self._use(call)
        for argument in call.arguments:
            if argument.symbol is not None and argument.role in (*_HANDLES, "rank", "tag"):
                self._give_role(argument.symbol, argument.role)
                self._mark(argument.symbol, "couplet", use)

    def _keep(self, call: Call) -> None:
        """What a call uses that stays MPI has to stay MPI, too."""
        use = Use(call.written, str(call.source.path), call.line, self._cause(call))
        if call.name in ROLES:
            self.kept.append((call, use))
        for argument in call.arguments:
            if argument.symbol is None:
                continue
            if call.name in ROLES:
                if argument.role in (*_HANDLES, "rank", "tag"):
                    self._give_role(argument.symbol, argument.role)
                    self._mark(argument.symbol, "mpi", use)
            elif call.name not in PROCESS_CALLS:
                self._mark(argument.symbol, "mpi", use)

    @staticmethod
    def _cause(call: Call) -> str:
        """Returns what makes a call stay MPI: its communicator, or the handle that it uses."""
        kinds = {
            "comm": "communicator", "request": "request", "requests": "request", "status": "status",
            "newtype": "datatype", "type": "datatype",
        }  # fmt: skip
        for role, kind in kinds.items() if call.name in ROLES else ():
            for argument in call.of_role(role):
                if argument.constant is not None:
                    return f"its {kind} {argument.constant}"
                if argument.symbol is not None:
                    return f"its {kind} '{argument.symbol.name}'"
        return ""

    def _follow_fields(self) -> None:
        """A number that is assigned from a status has the constants of the calls that fill the status."""
        for symbol, status in self.facts.copied_fields:
            for side, uses in status.root().uses.items():
                if uses:
                    self._mark(symbol, side, replace(uses[0], status=status.name))

    def _use(self, call: Call) -> Use:
        return Use(call.written, str(call.source.path), call.line)

    @staticmethod
    def _mark(symbol: Symbol, side: str, use: Use) -> None:
        symbol.root().uses[side].append(use)

    @staticmethod
    def _give_role(symbol: Symbol, role: str) -> None:
        plain = {"newcomm": "comm", "requests": "request", "statuses": "status", "newtype": "type", "types": "type"}
        symbol.root().roles.add(plain.get(role, role))

    # ---- reasons ----

    def _settle_statuses(self) -> None:
        """A status that nobody reads need not be given: then it may serve calls that stay MPI."""
        read = {symbol.root() for _, _, symbol in self.facts.read_statuses}
        for call in self.facts.calls:
            if call.name == "mpi_get_count":
                read |= {each.symbol.root() for each in call.of_role("status") if each.symbol is not None}
        passed = {
            actual.root() for each in self.facts.passed for _, actual in each.arguments if isinstance(actual, Symbol)
        }
        for call in self.facts.calls:
            for argument in call.of_role("status", "statuses"):
                symbol = argument.symbol
                if symbol is not None and symbol.is_mixed and symbol.root() not in read | passed:
                    self.dropped_statuses.add(symbol.root())

    def _mixed_reason(self, call: Call) -> str | None:
        for argument in call.arguments:
            symbol = argument.symbol
            if symbol is None or argument.role not in _HANDLES or not symbol.is_mixed:
                continue
            if symbol.root() in self.dropped_statuses:
                continue
            other = symbol.root().uses["mpi"][0]
            is_type = argument.role in ("type", "types", "newtype")
            advice = "make a second datatype for it" if is_type else "use a variable of its own"
            if other.call.lower() not in ROLES:
                reason = f"'{symbol.name}' is used by {other.call} at {other.place}: {why_not(other.call.lower())}"
                return f"{reason}; {advice}" if is_type and not other.call.lower().startswith("mpi_type_") else reason
            return (
                f"'{symbol.name}' is also used by {other.call} at {other.place}, which is not converted"
                f"{other.because('stays MPI')}: {advice}"
            )
        return None

    def _other_reason(self, call: Call) -> str | None:
        names = FORTRAN_CONSTANTS if call.source.language == "fortran" else C_CONSTANTS
        if call.parallel and self.options.openmp == "report":
            return (
                "it is inside an OpenMP region, and one thread at a time may call Couplet; move it out of the region, "
                "or let the threads take turns (--openmp convert)"
            )
        if call.name in NOT_IN_PLACE and any(each.constant == "MPI_IN_PLACE" for each in call.arguments):
            return "MPI_IN_PLACE is not possible for this call of Couplet; use a second array"
        if self._takes_made_type(call):
            return "this call of Couplet takes no datatype that was made: send the elements, packed into an array"
        for argument in call.arguments:
            if call.name.startswith("mpi_type_") and argument.constant in PAIR_TYPES:
                return "a datatype of Couplet has no pairs: make it of two elements"
            if argument.constant is not None and argument.role in ("type", "op") and argument.constant not in names:
                is_type = argument.role == "type"
                language = call.source.language
                return why_no_type(argument.constant, language) if is_type else why_no_operation(argument.constant)
            if argument.constant == "MPI_BOTTOM":
                return "Couplet has no MPI_BOTTOM; give the array"
            if argument.role == "comm" and argument.constant is None and argument.symbol is None:
                return "the communicator is not a variable"
        return self._undeclared(call)

    def _takes_made_type(self, call: Call) -> bool:
        """Whether a call that takes element types only is given a datatype that was made."""
        if call.name in TAKES_MADE_TYPES:
            return False
        made = {each.symbol.root() for maker in self.facts.calls if maker.chosen
                for each in maker.of_role("newtype") if each.symbol is not None}  # fmt: skip
        return any(each.symbol is not None and each.symbol.root() in made for each in call.of_role("type"))

    def _undeclared(self, call: Call) -> str | None:
        for argument in call.arguments:
            symbol = argument.symbol
            if symbol is None or symbol.root() in self.dropped_statuses or argument.role not in _HANDLES:
                continue
            if argument.role in ("type", "types", "newtype", "op"):
                if symbol.declared is None and call.source.language == "fortran":
                    return f"it is not known what '{symbol.name}' is; give the file that declares it, too"
            elif symbol.declared is None:
                return f"the declaration of '{symbol.name}' was not found; give the file that has it, too"
        return None

    def _report(self, call: Call, reason: str) -> None:
        self.problems.append(Finding(str(call.source.path), call.line, call.written, reason))

    # ---- what stays ----

    def _maker_of(self, call: Call) -> Use | None:
        """Returns the call that would have made the communicator of a call, and that could not be converted."""
        roots = {each.symbol.root() for each in call.of_role("comm") if each.symbol is not None}
        return next((use for made, use in self.not_made if made.root() in roots), None)

    def _look_at_kept_communicators(self) -> None:
        """Notes of calls that stay MPI; problems, if the communicator was to be made of the chosen one."""
        told: set[tuple[str, str]] = set()
        for call in self.facts.calls:
            for argument in call.of_role("comm"):
                symbol = argument.symbol
                if call.chosen or symbol is None:
                    continue
                maker = self._maker_of(call)
                where = f"{maker.path}:{maker.line}" if maker is not None else ""
                if maker is not None:
                    self._report(
                        call, f"'{symbol.name}' is made by {maker.call} at {where}, which could not be converted"
                    )
                elif (str(call.source.path), symbol.name) not in told:
                    told.add((str(call.source.path), symbol.name))
                    text = f"it stays MPI, since '{symbol.name}' is none of the chosen communicators (--communicator)"
                    self.notes.append(Finding(str(call.source.path), call.line, call.written, text))

    def unknown_receivers(self) -> list[Finding]:
        """Procedures that are in none of the files, and that would get a group or a request in place of MPI's."""
        found = []
        for passed in self.facts.passed:
            fortran = passed.source.language == "fortran"
            if self._procedures(passed.name) or passed.name in ("move_alloc", ""):
                continue
            for _, actual in passed.arguments:
                if isinstance(actual, Constant):
                    gone = self.options.without_mpi and actual.name == "MPI_COMM_WORLD"
                    name = actual.name
                else:
                    roles = actual.root().roles & ({"comm", "request", "status"} if fortran else {"comm"})
                    gone = actual.is_couplet and not actual.is_mixed and bool(roles) and not passed.bound
                    name = actual.name
                if gone:
                    reason = (
                        f"it is in none of the files, and gets '{name}', which is no longer MPI's; give its file, too"
                    )
                    line = passed.source.line_of(passed.node)
                    found.append(Finding(str(passed.source.path), line, passed.name, reason))
        return found

    def parallel_callers(self) -> list[Finding]:
        """Calls of procedures in OpenMP regions, if the procedures have converted calls."""
        inside = {call.scope for call in self.facts.calls if call.chosen and call.scope}
        while True:
            callers = {each.scope for each in self.facts.passed if self._procedures(each.name) & inside} - {""}
            if callers <= inside:
                break
            inside |= callers
        return [
            Finding(
                str(passed.source.path),
                passed.source.line_of(passed.node),
                passed.name,
                "it is called in an OpenMP region and has converted calls; one thread at a time may call Couplet",
            )
            for passed in self.facts.passed
            if passed.parallel and self._procedures(passed.name) & inside
        ]
