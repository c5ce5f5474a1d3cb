#include "collective/plan.hpp"

#include <algorithm>
#include <numeric>

#include "base/counted.hpp"

namespace couplet::collective {
namespace {

using cost::Collective;
using cost::Method;

constexpr std::uint64_t max_message_bytes = std::uint64_t{1} << 60;

Range whole(Space space, std::uint64_t count) noexcept {
  return {space, 0, count};
}

// The blocks of the members, one after the other or at the offsets.
std::vector<Range> blocks_of(Space space, std::size_t size, const std::uint64_t* counts, const std::uint64_t* offsets,
                             std::uint64_t count) {
  std::vector<Range> blocks(size);
  std::uint64_t first = 0;
  for (std::size_t place = 0; place < size; ++place) {
    const std::uint64_t length = counts == nullptr ? count : counts[place];
    blocks[place] = {space, offsets == nullptr ? first : offsets[place], length};
    first += length;
  }
  return blocks;
}

// The counts of the members' blocks, and where they begin.
struct UserBlocks {
  const char* name;
  const std::uint64_t* counts;
  const std::uint64_t* offsets;

  // Returns the number of elements that hold all blocks. REQUIRES: check() has returned ok.
  [[nodiscard]] std::uint64_t end(std::int32_t size) const noexcept {
    std::uint64_t end = 0;
    std::uint64_t first = 0;
    for (std::int32_t rank = 0; rank < size; ++rank) {
      end = std::max(end, (offsets == nullptr ? first : offsets[rank]) + counts[rank]);
      first += counts[rank];
    }
    return end;
  }
  [[nodiscard]] Status check(std::int32_t size, std::uint64_t given, std::uint64_t element_bytes) const {
    if (given != Sizes::unknown && given != static_cast<std::uint64_t>(size)) {
      return fail(Code::argument, "{} and its offsets have {}; one for each of {} is needed", name,
                  counted(given, "entry", "entries"), counted(size, "member"));
    }
    if (counts == nullptr) return fail(Code::argument, "{} is NULL; it has to have one count for each member", name);
    const std::uint64_t most = max_message_bytes / element_bytes;
    std::uint64_t sum = 0;
    for (std::int32_t rank = 0; rank < size; ++rank) {
      if (counts[rank] > most - sum) {
        return fail(Code::argument, "{}: the blocks up to that of rank {} have more than {} bytes", name, rank,
                    max_message_bytes);
      }
      sum += counts[rank];
      if (offsets != nullptr && offsets[rank] > most) {
        return fail(Code::argument, "the offset of the block of rank {} is {} elements, and at most {} are possible",
                    rank, offsets[rank], most);
      }
    }
    return {};
  }
};

UserBlocks input_blocks(const Arguments& arguments) noexcept {
  return {"counts", arguments.input_counts, arguments.input_offsets};
}
UserBlocks output_blocks(const Arguments& arguments) noexcept {
  return {arguments.kind == Collective::alltoall ? "result_counts" : "counts", arguments.output_counts,
          arguments.output_offsets};
}

// Everything that an algorithm needs, of one member.
struct Making {
  const Arguments& arguments;
  Method method;
  const Systems& systems;
  bool in_order;  // operands must not change places
  Builder builder;
  std::vector<std::int32_t> ranks;
  Circle circle;

  Making(const Arguments& given, Method chosen, std::int32_t own, const Systems& all, bool order)
      : arguments(given),
        method(chosen),
        systems(all),
        in_order(order),
        builder(own, static_cast<std::int32_t>(all.system_of.size())),
        ranks(all.system_of.size()) {
    std::iota(ranks.begin(), ranks.end(), 0);
    circle = {ranks, own};
  }

  [[nodiscard]] bool is_root() const noexcept { return builder.own() == arguments.root; }
  [[nodiscard]] std::uint64_t own_count(const std::uint64_t* counts) const noexcept {
    return counts[static_cast<std::size_t>(builder.own())];
  }

  void barrier();
  void broadcast();
  void reduce();
  void allreduce();
  void gather();
  void allgather();
  void scatter();
  void alltoall();
  void reduce_scatter();
  void scan();
};

void Making::barrier() {
  const Range mark = builder.scratch(1);
  method == Method::systems ? barrier_systems(builder, systems, mark) : barrier_dissemination(builder, circle, mark);
}

void Making::broadcast() {
  const Range data = whole(Space::output, arguments.count);
  if (method == Method::systems) return broadcast_systems(builder, systems, arguments.root, data);
  if (method == Method::ring) return broadcast_scatter_ring(builder, circle, arguments.root, data);
  broadcast_binomial(builder, circle, arguments.root, data);
}

void Making::reduce() {
  const Range data = is_root() ? whole(Space::output, arguments.count) : builder.scratch(arguments.count);
  builder.copy(whole(Space::input, arguments.count), data);
  if (method == Method::systems) return reduce_systems(builder, systems, arguments.root, data, in_order);
  reduce_binomial(builder, circle, arguments.root, data, in_order);
}

void Making::allreduce() {
  const Range data = whole(Space::output, arguments.count);
  builder.copy(whole(Space::input, arguments.count), data);
  if (method == Method::systems) return allreduce_systems(builder, systems, data);
  const bool pairs = arguments.operation == COUPLET_OPERATION_MAXLOC || arguments.operation == COUPLET_OPERATION_MINLOC;
  if (method == Method::ring) return allreduce_ring(builder, circle, data, pairs ? 2 : 1);
  allreduce_doubling(builder, circle, data);
}

void Making::gather() {
  const Range own = whole(Space::input, arguments.count);
  if (method == Method::binomial) {
    const Range blocks = whole(Space::output, arguments.count * static_cast<std::uint64_t>(builder.size()));
    return gather_binomial(builder, circle, arguments.root, own, blocks);
  }
  std::vector<Range> blocks;
  if (is_root()) {
    blocks = blocks_of(Space::output, ranks.size(), arguments.output_counts, arguments.output_offsets, arguments.count);
  }
  gather_linear(builder, circle, arguments.root, own, blocks);
}

void Making::allgather() {
  const auto blocks =
      blocks_of(Space::output, ranks.size(), arguments.output_counts, arguments.output_offsets, arguments.count);
  const Range kept = blocks[static_cast<std::size_t>(builder.own())];
  builder.copy(whole(Space::input, kept.count), kept);
  if (method == Method::ring) return allgather_ring(builder, circle, blocks);
  allgather_bruck(builder, circle, whole(Space::output, arguments.count * static_cast<std::uint64_t>(builder.size())));
}

void Making::scatter() {
  const Range own = whole(Space::output, arguments.count);
  if (method == Method::binomial) {
    const Range blocks = whole(Space::input, arguments.count * static_cast<std::uint64_t>(builder.size()));
    return scatter_binomial(builder, circle, arguments.root, blocks, own);
  }
  std::vector<Range> blocks;
  if (is_root()) {
    blocks = blocks_of(Space::input, ranks.size(), arguments.input_counts, arguments.input_offsets, arguments.count);
  }
  scatter_linear(builder, circle, arguments.root, blocks, own);
}

void Making::alltoall() {
  const auto in =
      blocks_of(Space::input, ranks.size(), arguments.input_counts, arguments.input_offsets, arguments.count);
  const auto out =
      blocks_of(Space::output, ranks.size(), arguments.output_counts, arguments.output_offsets, arguments.count);
  alltoall_pairwise(builder, circle, in, out);
}

void Making::reduce_scatter() {
  auto blocks = blocks_of(Space::scratch, ranks.size(), arguments.input_counts, nullptr, 0);
  std::uint64_t all = 0;
  for (const Range& block : blocks) all += block.count;
  const Range data = builder.scratch(all);  // the first of the scratch space, as `blocks` says
  builder.copy(whole(Space::input, all), data);
  const Range own = whole(Space::output, own_count(arguments.input_counts));
  if (method == Method::ring) {
    reduce_scatter_ring(builder, circle, blocks);
    return builder.copy(blocks[static_cast<std::size_t>(builder.own())], own);
  }
  reduce_binomial(builder, circle, 0, data, in_order);
  scatter_linear(builder, circle, 0, blocks, own);
}

void Making::scan() {
  const Range data = whole(Space::output, arguments.count);
  builder.copy(whole(Space::input, arguments.count), data);
  method == Method::linear ? scan_linear(builder, circle, data) : scan_doubling(builder, circle, data);
}

}  // namespace

bool Arguments::reduces() const noexcept {
  return kind == Collective::reduce || kind == Collective::allreduce || kind == Collective::reduce_scatter ||
         kind == Collective::scan;
}

bool Arguments::has_root() const noexcept {
  return kind == Collective::broadcast || kind == Collective::reduce || kind == Collective::gather ||
         kind == Collective::scatter;
}

namespace {

Status check_uneven(const Arguments& arguments, bool is_root, std::int32_t size, std::uint64_t element_bytes) {
  if (!arguments.uneven) return {};
  const bool in = arguments.kind == Collective::alltoall || arguments.kind == Collective::reduce_scatter ||
                  (arguments.kind == Collective::scatter && is_root);
  const bool out = arguments.kind == Collective::alltoall || arguments.kind == Collective::allgather ||
                   (arguments.kind == Collective::gather && is_root);
  if (in) COUPLET_TRY(input_blocks(arguments).check(size, arguments.sizes.counts, element_bytes));
  return out ? output_blocks(arguments).check(size, arguments.sizes.counts, element_bytes) : Status();
}

// The elements that input and output need at this member.
struct Needs {
  std::uint64_t input = 0;
  std::uint64_t output = 0;
};

// REQUIRES: the counts were checked.
Needs needs_of(const Arguments& arguments, std::int32_t own, std::int32_t size) {
  const auto rank = static_cast<std::size_t>(own);
  const bool is_root = arguments.root == own;
  const std::uint64_t one = arguments.count;
  const std::uint64_t all = one * static_cast<std::uint64_t>(size);
  const auto input = [&] { return arguments.uneven ? input_blocks(arguments).end(size) : all; };
  const auto output = [&] { return arguments.uneven ? output_blocks(arguments).end(size) : all; };
  switch (arguments.kind) {
    case Collective::barrier:
      return {};
    case Collective::broadcast:
      return {0, one};
    case Collective::reduce:
      return {one, is_root ? one : 0};
    case Collective::allreduce:
    case Collective::scan:
      return {one, one};
    case Collective::gather:
      return {one, is_root ? output() : 0};
    case Collective::allgather:
      return {arguments.uneven ? arguments.output_counts[rank] : one, output()};
    case Collective::scatter:
      return {is_root ? input() : 0, one};
    case Collective::alltoall:
      return {input(), output()};
    case Collective::reduce_scatter:
      return {input(), arguments.input_counts[rank]};
  }
  return {};
}

Status check_array(const char* name, const void* array, std::uint64_t size, std::uint64_t needed) {
  if (needed > 0 && array == nullptr)
    return fail(Code::argument, "{} is NULL, for {}", name, counted(needed, "element"));
  if (size < needed)
    return fail(Code::argument, "{} has {}, and {} needed", name, counted(size, "element"),
                counted(needed, "is", "are"));
  return {};
}

// What the member sends to itself has two lengths.
Status check_own_count(const Arguments& arguments, std::int32_t own) {
  const auto rank = static_cast<std::size_t>(own);
  const bool is_root = arguments.root == own;
  const auto differ = [own](std::uint64_t one, std::uint64_t other) {
    return fail(Code::argument, "rank {} gives itself {} and takes {}", own, counted(one, "element"), other);
  };
  if (!arguments.uneven) return {};
  if (arguments.kind == Collective::gather && is_root && arguments.count != arguments.output_counts[rank]) {
    return differ(arguments.count, arguments.output_counts[rank]);
  }
  if (arguments.kind == Collective::scatter && is_root && arguments.count != arguments.input_counts[rank]) {
    return differ(arguments.input_counts[rank], arguments.count);
  }
  if (arguments.kind == Collective::alltoall && arguments.input_counts[rank] != arguments.output_counts[rank]) {
    return differ(arguments.input_counts[rank], arguments.output_counts[rank]);
  }
  return {};
}

}  // namespace

std::string name_of(Collective kind, bool uneven) {
  return std::string(cost::name_of(kind)) + (uneven && kind != Collective::reduce_scatter ? "v" : "");
}

void forget_unused(Arguments& arguments, std::int32_t own) noexcept {
  if (arguments.root == own) return;
  if (arguments.kind == Collective::gather) arguments.output_counts = arguments.output_offsets = nullptr;
  if (arguments.kind == Collective::scatter) arguments.input_counts = arguments.input_offsets = nullptr;
}

Status check_memory(const Arguments& arguments, std::int32_t own, std::int32_t size) {
  const Needs needs = needs_of(arguments, own, size);
  const auto members = static_cast<std::uint64_t>(size);
  if (arguments.kind == Collective::alltoall && !arguments.uneven && arguments.sizes.input != Sizes::unknown &&
      arguments.sizes.input % members != 0) {
    return fail(Code::argument, "data has {}, which cannot be divided among {}",
                counted(arguments.sizes.input, "element"), counted(members, "member"));
  }
  COUPLET_TRY(check_array("data", arguments.input, arguments.sizes.input, needs.input));
  return check_array(arguments.kind == Collective::broadcast ? "data" : "result", arguments.output,
                     arguments.sizes.output, needs.output);
}

Status check(const Arguments& arguments, std::int32_t own, std::int32_t size, const Operations& operations) {
  const TypeInfo* const type = find_type(arguments.type);
  if (type == nullptr) return fail(Code::type, "{} is no element type", arguments.type);
  if (arguments.has_root() && (arguments.root < 0 || arguments.root >= size)) {
    return fail(Code::argument, "root is {}, but the group has ranks 0 to {}", arguments.root, size - 1);
  }
  const std::uint64_t element_bytes = type->element_bytes * static_cast<std::uint64_t>(size);
  if (arguments.count > max_message_bytes / element_bytes) {
    return fail(Code::argument, "{} elements of {} for each of {} are more than {} bytes", arguments.count,
                counted(type->element_bytes, "byte"), counted(size, "member"), max_message_bytes);
  }
  const bool is_root = arguments.root == own;
  COUPLET_TRY(check_uneven(arguments, is_root, size, element_bytes));
  COUPLET_TRY(check_own_count(arguments, own));
  if (arguments.reduces()) {
    COUPLET_TRY(operations.check(arguments.operation, arguments.type, arguments.count));
    for (std::int32_t rank = 0; arguments.input_counts != nullptr && rank < size; ++rank) {
      COUPLET_TRY(operations.check(arguments.operation, arguments.type, arguments.input_counts[rank]));
    }
  }
  return check_memory(arguments, own, size);
}

cost::CollectiveShape shape_of(const Arguments& arguments, std::int32_t size, const Systems& systems,
                               const Operations& operations) {
  const TypeInfo* const type = find_type(arguments.type);
  cost::CollectiveShape shape;
  shape.kind = arguments.kind;
  shape.size = size;
  shape.systems = static_cast<std::int32_t>(systems.members.size());
  shape.systems_in_order = systems.in_order;
  shape.may_reorder = !arguments.reduces() || operations.may_reorder(arguments.operation);
  shape.uneven = arguments.uneven;
  shape.bytes = arguments.common_count() * type->element_bytes;
  if (arguments.kind == Collective::allgather) shape.bytes *= static_cast<std::uint64_t>(size);
  return shape;
}

Result<Method> method_of(const Arguments& arguments, const cost::CollectiveShape& shape,
                         std::span<const cost::MethodPiece> measured) {
  if (arguments.method == Method::automatic) return cost::choose_method(shape, measured);
  if (cost::is_possible(arguments.method, shape)) return arguments.method;
  return fail(Code::argument, "the method {} is not possible{}; the library would choose {}",
              cost::name_of(arguments.method), shape.may_reorder ? "" : " with an operation that is not commutative",
              cost::name_of(cost::choose_method(shape, measured)));
}

Schedule make_schedule(const Arguments& arguments, Method method, std::int32_t own, const Systems& systems,
                       const Operations& operations) {
  Making making(arguments, method, own, systems, arguments.reduces() && !operations.may_reorder(arguments.operation));
  switch (arguments.kind) {
    case Collective::barrier:
      making.barrier();
      break;
    case Collective::broadcast:
      making.broadcast();
      break;
    case Collective::reduce:
      making.reduce();
      break;
    case Collective::allreduce:
      making.allreduce();
      break;
    case Collective::gather:
      making.gather();
      break;
    case Collective::allgather:
      making.allgather();
      break;
    case Collective::scatter:
      making.scatter();
      break;
    case Collective::alltoall:
      making.alltoall();
      break;
    case Collective::reduce_scatter:
      making.reduce_scatter();
      break;
    case Collective::scan:
      making.scan();
      break;
  }
  return making.builder.take();
}

}  // namespace couplet::collective
