// Part of couplet.hpp, which programs include: collective calls over groups, as functions. The documentation of each is
// in couplet_collective.h; a function with an i in front starts the call without waiting.
// Tests: tests/languages.
#ifndef COUPLET_COUPLET_COLLECTIVE_HPP
#define COUPLET_COUPLET_COLLECTIVE_HPP

#include <couplet/couplet_message.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace couplet {

/// An operation of a reduction. Operations of user code are made by create_operation().
enum class Operation : couplet_operation {
  sum = COUPLET_OPERATION_SUM,
  product = COUPLET_OPERATION_PRODUCT,
  max = COUPLET_OPERATION_MAX,
  min = COUPLET_OPERATION_MIN,
  logical_and = COUPLET_OPERATION_LOGICAL_AND,
  logical_or = COUPLET_OPERATION_LOGICAL_OR,
  logical_xor = COUPLET_OPERATION_LOGICAL_XOR,
  bitwise_and = COUPLET_OPERATION_BITWISE_AND,
  bitwise_or = COUPLET_OPERATION_BITWISE_OR,
  bitwise_xor = COUPLET_OPERATION_BITWISE_XOR,
  maxloc = COUPLET_OPERATION_MAXLOC,
  minloc = COUPLET_OPERATION_MINLOC,
};

/// What can be set for one call.
struct CollectiveOptions {
  double timeout_s = for_ever;                     ///< after which this member revokes the call for all
  std::int32_t method = COUPLET_METHOD_AUTOMATIC;  ///< COUPLET_METHOD_*
};

/// The counts of the members' blocks, and where the blocks begin (empty: one after the other).
struct BlockCounts {
  std::span<const std::uint64_t> counts;
  std::span<const std::uint64_t> offsets{};
};

namespace detail {

inline couplet_collective_options c_options(const CollectiveOptions& options) noexcept {
  couplet_collective_options made;
  couplet_collective_options_init(&made);
  made.timeout_s = options.timeout_s;
  made.method = options.method;
  return made;
}
inline const std::uint64_t* or_null(std::span<const std::uint64_t> numbers) noexcept {
  return numbers.empty() ? nullptr : numbers.data();
}
[[noreturn]] inline void refuse(const std::string& text) {
  throw Error(COUPLET_ERROR_ARGUMENT, text);
}
/// Throws unless a span has as many elements as the call moves.
inline void expect_elements(const char* call, const char* name, std::uint64_t given, std::uint64_t wanted) {
  if (given < wanted) {
    refuse(std::string(call) + ": " + name + " has " + std::to_string(given) + " elements, and " +
           std::to_string(wanted) + " are needed");
  }
}
inline std::uint64_t end_of(const BlockCounts& blocks) noexcept {
  std::uint64_t end = 0;
  std::uint64_t first = 0;
  for (std::size_t place = 0; place < blocks.counts.size(); ++place) {
    const std::uint64_t start = blocks.offsets.empty() ? first : blocks.offsets[place];
    end = start + blocks.counts[place] > end ? start + blocks.counts[place] : end;
    first += blocks.counts[place];
  }
  return end;
}
/// Throws unless there is a count, and an offset or none, for each member.
inline void expect_blocks(const char* call, const Group& group, const BlockCounts& blocks) {
  const auto size = static_cast<std::size_t>(group.size());
  if (blocks.counts.size() != size || (!blocks.offsets.empty() && blocks.offsets.size() != size)) {
    refuse(std::string(call) + ": there are " + std::to_string(blocks.counts.size()) + " counts and " +
           std::to_string(blocks.offsets.size()) + " offsets for " + std::to_string(size) + " members");
  }
}

}  // namespace detail

/// Combines into[i] = from[i] (operation) into[i] for all elements.
template <Element T>
using Combine = std::function<void(std::span<const T> from, std::span<T> into)>;

/// Makes an operation of user code. Its function is kept as long as the process lives, and must throw nothing but
/// std::exception, which fails the call.
template <Element T>
Operation create_operation(couplet_universe* universe, const std::string& name, Combine<T> combine, bool commutative) {
  auto kept = std::make_unique<Combine<T>>(std::move(combine));
  const auto call = [](const void* from, void* into, std::uint64_t count, couplet_type type,
                       void* context) -> std::int32_t {
    if (type != type_of<T>) {
      return -1;
    }
    try {
      (*static_cast<Combine<T>*>(context))({static_cast<const T*>(from), count}, {static_cast<T*>(into), count});
    } catch (const std::exception&) {
      return -2;
    }
    return 0;
  };
  couplet_operation operation = 0;
  detail::check(couplet_operation_create(universe, name.c_str(), call, kept.get(), commutative ? 1 : 0, &operation));
  static_cast<void>(kept.release());
  return static_cast<Operation>(operation);
}

/// Returns the method that a call would use, such as "ring". call: the name of the function, such as "allreduce".
inline std::string collective_method(const Group& group, const std::string& call, std::uint64_t bytes) {
  const char* method = "";
  detail::check(couplet_collective_method(group.handle(), call.c_str(), bytes, &method));
  return method;
}

/// As couplet_barrier.
inline void barrier(const Group& group, const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options = detail::c_options(options);
  detail::check(couplet_barrier(group.handle(), &c_options));
}
[[nodiscard]] inline Request ibarrier(const Group& group, const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options = detail::c_options(options);
  couplet_request* request = nullptr;
  detail::check(couplet_ibarrier(group.handle(), &c_options, &request));
  return Request(request);
}

/// As couplet_broadcast.
template <Element T>
void broadcast(const Group& group, std::span<T> data, std::int32_t root, const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options = detail::c_options(options);
  detail::check(couplet_broadcast(group.handle(), data.data(), data.size(), type_of<T>, root, &c_options));
}
template <Element T>
[[nodiscard]] Request ibroadcast(const Group& group, std::span<T> data, std::int32_t root,
                                 const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options = detail::c_options(options);
  couplet_request* request = nullptr;
  detail::check(couplet_ibroadcast(group.handle(), data.data(), data.size(), type_of<T>, root, &c_options, &request));
  return Request(request);
}

/// As couplet_reduce.
template <Element T>
void reduce(const Group& group, std::span<const T> data, std::span<T> result, Operation operation, std::int32_t root,
            const CollectiveOptions& options = {}) {
  if (group.rank() == root) {
    detail::expect_elements("reduce", "result", result.size(), data.size());
  }
  const couplet_collective_options c_options = detail::c_options(options);
  detail::check(couplet_reduce(group.handle(), data.data(), result.data(), data.size(), type_of<T>,
                               static_cast<couplet_operation>(operation), root, &c_options));
}
template <Element T>
[[nodiscard]] Request ireduce(const Group& group, std::span<const T> data, std::span<T> result, Operation operation,
                              std::int32_t root, const CollectiveOptions& options = {}) {
  if (group.rank() == root) {
    detail::expect_elements("reduce", "result", result.size(), data.size());
  }
  const couplet_collective_options c_options = detail::c_options(options);
  couplet_request* request = nullptr;
  detail::check(couplet_ireduce(group.handle(), data.data(), result.data(), data.size(), type_of<T>,
                                static_cast<couplet_operation>(operation), root, &c_options, &request));
  return Request(request);
}

/// As couplet_allreduce.
template <Element T>
void allreduce(const Group& group, std::span<const T> data, std::span<T> result, Operation operation,
               const CollectiveOptions& options = {}) {
  detail::expect_elements("allreduce", "result", result.size(), data.size());
  const couplet_collective_options c_options = detail::c_options(options);
  detail::check(couplet_allreduce(group.handle(), data.data(), result.data(), data.size(), type_of<T>,
                                  static_cast<couplet_operation>(operation), &c_options));
}
template <Element T>
[[nodiscard]] Request iallreduce(const Group& group, std::span<const T> data, std::span<T> result, Operation operation,
                                 const CollectiveOptions& options = {}) {
  detail::expect_elements("allreduce", "result", result.size(), data.size());
  const couplet_collective_options c_options = detail::c_options(options);
  couplet_request* request = nullptr;
  detail::check(couplet_iallreduce(group.handle(), data.data(), result.data(), data.size(), type_of<T>,
                                   static_cast<couplet_operation>(operation), &c_options, &request));
  return Request(request);
}

/// As couplet_gather.
template <Element T>
void gather(const Group& group, std::span<const T> data, std::span<T> result, std::int32_t root,
            const CollectiveOptions& options = {}) {
  if (group.rank() == root) {
    detail::expect_elements("gather", "result", result.size(), data.size() * static_cast<std::size_t>(group.size()));
  }
  const couplet_collective_options c_options = detail::c_options(options);
  detail::check(couplet_gather(group.handle(), data.data(), data.size(), result.data(), type_of<T>, root, &c_options));
}
template <Element T>
[[nodiscard]] Request igather(const Group& group, std::span<const T> data, std::span<T> result, std::int32_t root,
                              const CollectiveOptions& options = {}) {
  if (group.rank() == root) {
    detail::expect_elements("gather", "result", result.size(), data.size() * static_cast<std::size_t>(group.size()));
  }
  const couplet_collective_options c_options = detail::c_options(options);
  couplet_request* request = nullptr;
  detail::check(
      couplet_igather(group.handle(), data.data(), data.size(), result.data(), type_of<T>, root, &c_options, &request));
  return Request(request);
}

/// As couplet_gatherv.
template <Element T>
void gatherv(const Group& group, std::span<const T> data, std::span<T> result, const BlockCounts& blocks,
             std::int32_t root, const CollectiveOptions& options = {}) {
  if (group.rank() == root) {
    detail::expect_blocks("gatherv", group, blocks);
    detail::expect_elements("gatherv", "result", result.size(), detail::end_of(blocks));
  }
  const couplet_collective_options c_options = detail::c_options(options);
  detail::check(couplet_gatherv(group.handle(), data.data(), data.size(), result.data(), detail::or_null(blocks.counts),
                                detail::or_null(blocks.offsets), type_of<T>, root, &c_options));
}
template <Element T>
[[nodiscard]] Request igatherv(const Group& group, std::span<const T> data, std::span<T> result,
                               const BlockCounts& blocks, std::int32_t root, const CollectiveOptions& options = {}) {
  if (group.rank() == root) {
    detail::expect_blocks("gatherv", group, blocks);
    detail::expect_elements("gatherv", "result", result.size(), detail::end_of(blocks));
  }
  const couplet_collective_options c_options = detail::c_options(options);
  couplet_request* request = nullptr;
  detail::check(couplet_igatherv(group.handle(), data.data(), data.size(), result.data(),
                                 detail::or_null(blocks.counts), detail::or_null(blocks.offsets), type_of<T>, root,
                                 &c_options, &request));
  return Request(request);
}

/// As couplet_allgather.
template <Element T>
void allgather(const Group& group, std::span<const T> data, std::span<T> result,
               const CollectiveOptions& options = {}) {
  detail::expect_elements("allgather", "result", result.size(), data.size() * static_cast<std::size_t>(group.size()));
  const couplet_collective_options c_options = detail::c_options(options);
  detail::check(couplet_allgather(group.handle(), data.data(), data.size(), result.data(), type_of<T>, &c_options));
}
template <Element T>
[[nodiscard]] Request iallgather(const Group& group, std::span<const T> data, std::span<T> result,
                                 const CollectiveOptions& options = {}) {
  detail::expect_elements("allgather", "result", result.size(), data.size() * static_cast<std::size_t>(group.size()));
  const couplet_collective_options c_options = detail::c_options(options);
  couplet_request* request = nullptr;
  detail::check(
      couplet_iallgather(group.handle(), data.data(), data.size(), result.data(), type_of<T>, &c_options, &request));
  return Request(request);
}

/// As couplet_allgatherv.
template <Element T>
void allgatherv(const Group& group, std::span<const T> data, std::span<T> result, const BlockCounts& blocks,
                const CollectiveOptions& options = {}) {
  detail::expect_blocks("allgatherv", group, blocks);
  detail::expect_elements("allgatherv", "data", data.size(), blocks.counts[static_cast<std::size_t>(group.rank())]);
  detail::expect_elements("allgatherv", "result", result.size(), detail::end_of(blocks));
  const couplet_collective_options c_options = detail::c_options(options);
  detail::check(couplet_allgatherv(group.handle(), data.data(), result.data(), detail::or_null(blocks.counts),
                                   detail::or_null(blocks.offsets), type_of<T>, &c_options));
}
template <Element T>
[[nodiscard]] Request iallgatherv(const Group& group, std::span<const T> data, std::span<T> result,
                                  const BlockCounts& blocks, const CollectiveOptions& options = {}) {
  detail::expect_blocks("allgatherv", group, blocks);
  detail::expect_elements("allgatherv", "data", data.size(), blocks.counts[static_cast<std::size_t>(group.rank())]);
  detail::expect_elements("allgatherv", "result", result.size(), detail::end_of(blocks));
  const couplet_collective_options c_options = detail::c_options(options);
  couplet_request* request = nullptr;
  detail::check(couplet_iallgatherv(group.handle(), data.data(), result.data(), detail::or_null(blocks.counts),
                                    detail::or_null(blocks.offsets), type_of<T>, &c_options, &request));
  return Request(request);
}

/// As couplet_scatter.
template <Element T>
void scatter(const Group& group, std::span<const T> data, std::span<T> result, std::int32_t root,
             const CollectiveOptions& options = {}) {
  if (group.rank() == root) {
    detail::expect_elements("scatter", "data", data.size(), result.size() * static_cast<std::size_t>(group.size()));
  }
  const couplet_collective_options c_options = detail::c_options(options);
  detail::check(
      couplet_scatter(group.handle(), data.data(), result.data(), result.size(), type_of<T>, root, &c_options));
}
template <Element T>
[[nodiscard]] Request iscatter(const Group& group, std::span<const T> data, std::span<T> result, std::int32_t root,
                               const CollectiveOptions& options = {}) {
  if (group.rank() == root) {
    detail::expect_elements("scatter", "data", data.size(), result.size() * static_cast<std::size_t>(group.size()));
  }
  const couplet_collective_options c_options = detail::c_options(options);
  couplet_request* request = nullptr;
  detail::check(couplet_iscatter(group.handle(), data.data(), result.data(), result.size(), type_of<T>, root,
                                 &c_options, &request));
  return Request(request);
}

/// As couplet_scatterv.
template <Element T>
void scatterv(const Group& group, std::span<const T> data, const BlockCounts& blocks, std::span<T> result,
              std::int32_t root, const CollectiveOptions& options = {}) {
  if (group.rank() == root) {
    detail::expect_blocks("scatterv", group, blocks);
    detail::expect_elements("scatterv", "data", data.size(), detail::end_of(blocks));
  }
  const couplet_collective_options c_options = detail::c_options(options);
  detail::check(couplet_scatterv(group.handle(), data.data(), detail::or_null(blocks.counts),
                                 detail::or_null(blocks.offsets), result.data(), result.size(), type_of<T>, root,
                                 &c_options));
}
template <Element T>
[[nodiscard]] Request iscatterv(const Group& group, std::span<const T> data, const BlockCounts& blocks,
                                std::span<T> result, std::int32_t root, const CollectiveOptions& options = {}) {
  if (group.rank() == root) {
    detail::expect_blocks("scatterv", group, blocks);
    detail::expect_elements("scatterv", "data", data.size(), detail::end_of(blocks));
  }
  const couplet_collective_options c_options = detail::c_options(options);
  couplet_request* request = nullptr;
  detail::check(couplet_iscatterv(group.handle(), data.data(), detail::or_null(blocks.counts),
                                  detail::or_null(blocks.offsets), result.data(), result.size(), type_of<T>, root,
                                  &c_options, &request));
  return Request(request);
}

/// As couplet_alltoall.
template <Element T>
void alltoall(const Group& group, std::span<const T> data, std::span<T> result, const CollectiveOptions& options = {}) {
  const auto size = static_cast<std::size_t>(group.size());
  if (data.size() % size != 0) {
    detail::refuse("alltoall: data has " + std::to_string(data.size()) + " elements, not a multiple of the " +
                   std::to_string(size) + " members");
  }
  detail::expect_elements("alltoall", "result", result.size(), data.size());
  const couplet_collective_options c_options = detail::c_options(options);
  detail::check(
      couplet_alltoall(group.handle(), data.data(), result.data(), data.size() / size, type_of<T>, &c_options));
}
template <Element T>
[[nodiscard]] Request ialltoall(const Group& group, std::span<const T> data, std::span<T> result,
                                const CollectiveOptions& options = {}) {
  const auto size = static_cast<std::size_t>(group.size());
  if (data.size() % size != 0) {
    detail::refuse("alltoall: data has " + std::to_string(data.size()) + " elements, not a multiple of the " +
                   std::to_string(size) + " members");
  }
  detail::expect_elements("alltoall", "result", result.size(), data.size());
  const couplet_collective_options c_options = detail::c_options(options);
  couplet_request* request = nullptr;
  detail::check(couplet_ialltoall(group.handle(), data.data(), result.data(), data.size() / size, type_of<T>,
                                  &c_options, &request));
  return Request(request);
}

/// As couplet_alltoallv.
template <Element T>
void alltoallv(const Group& group, std::span<const T> data, const BlockCounts& blocks, std::span<T> result,
               const BlockCounts& result_blocks, const CollectiveOptions& options = {}) {
  detail::expect_blocks("alltoallv", group, blocks);
  detail::expect_blocks("alltoallv", group, result_blocks);
  detail::expect_elements("alltoallv", "data", data.size(), detail::end_of(blocks));
  detail::expect_elements("alltoallv", "result", result.size(), detail::end_of(result_blocks));
  const couplet_collective_options c_options = detail::c_options(options);
  detail::check(couplet_alltoallv(group.handle(), data.data(), detail::or_null(blocks.counts),
                                  detail::or_null(blocks.offsets), result.data(), detail::or_null(result_blocks.counts),
                                  detail::or_null(result_blocks.offsets), type_of<T>, &c_options));
}
template <Element T>
[[nodiscard]] Request ialltoallv(const Group& group, std::span<const T> data, const BlockCounts& blocks,
                                 std::span<T> result, const BlockCounts& result_blocks,
                                 const CollectiveOptions& options = {}) {
  detail::expect_blocks("alltoallv", group, blocks);
  detail::expect_blocks("alltoallv", group, result_blocks);
  detail::expect_elements("alltoallv", "data", data.size(), detail::end_of(blocks));
  detail::expect_elements("alltoallv", "result", result.size(), detail::end_of(result_blocks));
  const couplet_collective_options c_options = detail::c_options(options);
  couplet_request* request = nullptr;
  detail::check(couplet_ialltoallv(
      group.handle(), data.data(), detail::or_null(blocks.counts), detail::or_null(blocks.offsets), result.data(),
      detail::or_null(result_blocks.counts), detail::or_null(result_blocks.offsets), type_of<T>, &c_options, &request));
  return Request(request);
}

/// As couplet_reduce_scatter.
template <Element T>
void reduce_scatter(const Group& group, std::span<const T> data, std::span<T> result,
                    std::span<const std::uint64_t> counts, Operation operation, const CollectiveOptions& options = {}) {
  detail::expect_blocks("reduce_scatter", group, {counts});
  detail::expect_elements("reduce_scatter", "data", data.size(), detail::end_of({counts}));
  detail::expect_elements("reduce_scatter", "result", result.size(), counts[static_cast<std::size_t>(group.rank())]);
  const couplet_collective_options c_options = detail::c_options(options);
  detail::check(couplet_reduce_scatter(group.handle(), data.data(), result.data(), counts.data(), type_of<T>,
                                       static_cast<couplet_operation>(operation), &c_options));
}
template <Element T>
[[nodiscard]] Request ireduce_scatter(const Group& group, std::span<const T> data, std::span<T> result,
                                      std::span<const std::uint64_t> counts, Operation operation,
                                      const CollectiveOptions& options = {}) {
  detail::expect_blocks("reduce_scatter", group, {counts});
  detail::expect_elements("reduce_scatter", "data", data.size(), detail::end_of({counts}));
  detail::expect_elements("reduce_scatter", "result", result.size(), counts[static_cast<std::size_t>(group.rank())]);
  const couplet_collective_options c_options = detail::c_options(options);
  couplet_request* request = nullptr;
  detail::check(couplet_ireduce_scatter(group.handle(), data.data(), result.data(), counts.data(), type_of<T>,
                                        static_cast<couplet_operation>(operation), &c_options, &request));
  return Request(request);
}

/// As couplet_scan.
template <Element T>
void scan(const Group& group, std::span<const T> data, std::span<T> result, Operation operation,
          const CollectiveOptions& options = {}) {
  detail::expect_elements("scan", "result", result.size(), data.size());
  const couplet_collective_options c_options = detail::c_options(options);
  detail::check(couplet_scan(group.handle(), data.data(), result.data(), data.size(), type_of<T>,
                             static_cast<couplet_operation>(operation), &c_options));
}
template <Element T>
[[nodiscard]] Request iscan(const Group& group, std::span<const T> data, std::span<T> result, Operation operation,
                            const CollectiveOptions& options = {}) {
  detail::expect_elements("scan", "result", result.size(), data.size());
  const couplet_collective_options c_options = detail::c_options(options);
  couplet_request* request = nullptr;
  detail::check(couplet_iscan(group.handle(), data.data(), result.data(), data.size(), type_of<T>,
                              static_cast<couplet_operation>(operation), &c_options, &request));
  return Request(request);
}

}  // namespace couplet

#endif
