#include "collective/plan.hpp"

#include <numeric>

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

Status check_counts(const char* name, const std::uint64_t* counts, std::int32_t size, std::uint64_t element_bytes) {
  if (counts == nullptr) return fail(Code::argument, "{} is NULL; it has to have one count for each member", name);
  std::uint64_t sum = 0;
  for (std::int32_t rank = 0; rank < size; ++rank) {
    if (counts[rank] > max_message_bytes / element_bytes - sum) {
      return fail(Code::argument, "{}: the blocks up to that of rank {} have more than {} bytes", name, rank,
                  max_message_bytes);
    }
    sum += counts[rank];
  }
  return {};
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

Status check_memory(const Arguments& arguments, bool is_root, std::uint64_t all) {
  if (arguments.kind == Collective::barrier || all == 0) return {};
  const bool needs_input =
      arguments.kind != Collective::broadcast && (arguments.kind != Collective::scatter || is_root);
  const bool only_at_root = arguments.kind == Collective::reduce || arguments.kind == Collective::gather;
  if (needs_input && arguments.input == nullptr) return fail(Code::argument, "data is NULL, for {} elements", all);
  if (arguments.output == nullptr && (!only_at_root || is_root)) {
    return fail(Code::argument, "{} is NULL, for {} elements",
                arguments.kind == Collective::broadcast ? "data" : "result", all);
  }
  return {};
}

Status check_uneven(const Arguments& arguments, bool is_root, std::int32_t size, std::uint64_t element_bytes) {
  if (!arguments.uneven) return {};
  const bool in = arguments.kind == Collective::alltoall || arguments.kind == Collective::reduce_scatter ||
                  (arguments.kind == Collective::scatter && is_root);
  const bool out = arguments.kind == Collective::alltoall || arguments.kind == Collective::allgather ||
                   (arguments.kind == Collective::gather && is_root);
  if (in) COUPLET_TRY(check_counts("counts", arguments.input_counts, size, element_bytes));
  if (!out) return {};
  return check_counts(arguments.kind == Collective::alltoall ? "result_counts" : "counts", arguments.output_counts,
                      size, element_bytes);
}

// The elements that this member gives or gets: 0 only if there are none.
std::uint64_t elements_of(const Arguments& arguments, std::int32_t size) {
  std::uint64_t all = arguments.count;
  for (std::int32_t rank = 0; rank < size; ++rank) {
    if (arguments.input_counts != nullptr) all += arguments.input_counts[rank];
    if (arguments.output_counts != nullptr) all += arguments.output_counts[rank];
  }
  return all;
}

}  // namespace

Status check(const Arguments& arguments, std::int32_t own, std::int32_t size, const Operations& operations) {
  const TypeInfo* const type = find_type(arguments.type);
  if (type == nullptr) return fail(Code::type, "{} is no element type", arguments.type);
  if (arguments.has_root() && (arguments.root < 0 || arguments.root >= size)) {
    return fail(Code::argument, "root is {}, but the group has ranks 0 to {}", arguments.root, size - 1);
  }
  const std::uint64_t element_bytes = type->element_bytes * static_cast<std::uint64_t>(size);
  if (arguments.count > max_message_bytes / element_bytes) {
    return fail(Code::argument, "{} elements of {} bytes for each of {} members are more than {} bytes",
                arguments.count, type->element_bytes, size, max_message_bytes);
  }
  const bool is_root = arguments.root == own;
  COUPLET_TRY(check_uneven(arguments, is_root, size, element_bytes));
  if (arguments.reduces()) {
    COUPLET_TRY(operations.check(arguments.operation, arguments.type, arguments.count));
    for (std::int32_t rank = 0; arguments.input_counts != nullptr && rank < size; ++rank) {
      COUPLET_TRY(operations.check(arguments.operation, arguments.type, arguments.input_counts[rank]));
    }
  }
  return check_memory(arguments, is_root, elements_of(arguments, size));
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

Result<Method> method_of(const Arguments& arguments, const cost::CollectiveShape& shape) {
  if (arguments.method == Method::automatic) return cost::choose_method(shape);
  if (cost::is_possible(arguments.method, shape)) return arguments.method;
  return fail(Code::argument, "the method {} is not possible{}; the library would choose {}",
              cost::name_of(arguments.method), shape.may_reorder ? "" : " with an operation that is not commutative",
              cost::name_of(cost::choose_method(shape)));
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
