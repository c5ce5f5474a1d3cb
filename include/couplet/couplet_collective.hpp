// Part of couplet.hpp, which programs include: collective calls over groups, as functions. The documentation of each is
// in couplet_collective.h; a function with an i in front starts the call without waiting.
// Tests: tests/languages.
#ifndef COUPLET_COUPLET_COLLECTIVE_HPP
#define COUPLET_COUPLET_COLLECTIVE_HPP

#include <couplet/couplet_message.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
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
  double timeout_s = for_ever;                         ///< after which this member revokes the call for all
  std::int32_t method = COUPLET_COLLECTIVE_AUTOMATIC;  ///< COUPLET_COLLECTIVE_*
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
/// How many entries each array of counts and offsets has.
inline std::uint64_t entries_of(const BlockCounts& blocks) noexcept {
  const bool is_shorter = !blocks.offsets.empty() && blocks.offsets.size() < blocks.counts.size();
  return is_shorter ? blocks.offsets.size() : blocks.counts.size();
}
inline std::uint64_t entries_of(const BlockCounts& blocks, const BlockCounts& others) noexcept {
  const std::uint64_t first = entries_of(blocks);
  const std::uint64_t second = entries_of(others);
  return first < second ? first : second;
}
/// The options of a call with these numbers of elements, and of counts: the library refuses a call that needs more.
inline couplet_collective_options c_options(const CollectiveOptions& options, std::size_t data, std::size_t result,
                                            std::uint64_t counts = UINT64_MAX) noexcept {
  couplet_collective_options made = c_options(options);
  made.data_size = data;
  made.result_size = result;
  made.counts_size = counts;
  return made;
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

/// As couplet_collective_refuse: fails the next call of the group at all members, because this one cannot make it. It
/// does not throw the error that it makes.
inline void refuse_collective(const Group& group, const std::string& call, const std::string& text) noexcept {
  static_cast<void>(couplet_collective_refuse(group.handle(), call.c_str(), COUPLET_ERROR_STATE, text.c_str()));
}

/// Returns the group of the ranks 0 of all programs, as couplet_group_create_heads does.
[[nodiscard]] inline Group heads_group(couplet_universe* universe, const std::string& name = "heads") {
  couplet_group* group = nullptr;
  detail::check(couplet_group_create_heads(universe, name.c_str(), &group));
  return Group(group);
}

/// Returns the group of all ranks of one program, as couplet_group_create_program does.
[[nodiscard]] inline Group program_group_of(couplet_universe* universe, const std::string& program) {
  couplet_group* group = nullptr;
  detail::check(couplet_group_create_program(universe, program.c_str(), &group));
  return Group(group);
}

/// As couplet_group_create_filtered: the group of the universe ranks for which keep(rank, program id) is true, in their
/// order. Every process calls it with a function that decides alike. It throws what `keep` throws.
[[nodiscard]] inline Group filter_group(couplet_universe* universe, const std::string& name,
                                        const std::function<bool(std::int32_t rank, std::int32_t program)>& keep) {
  struct Context {
    const std::function<bool(std::int32_t, std::int32_t)>& keep;
    std::exception_ptr thrown;
  } context{keep, nullptr};
  const auto call = [](std::int32_t rank, std::int32_t program, void* given) -> std::int32_t {
    auto& known = *static_cast<Context*>(given);
    try {
      return known.thrown == nullptr && known.keep(rank, program) ? 1 : 0;
    } catch (...) {
      known.thrown = std::current_exception();
      return 0;
    }
  };
  couplet_group* group = nullptr;
  const couplet_status status = couplet_group_create_filtered(universe, name.c_str(), call, &context, &group);
  if (context.thrown != nullptr) {
    static_cast<void>(group == nullptr ? COUPLET_OK : couplet_group_free(group));
    std::rethrow_exception(context.thrown);
  }
  detail::check(status);
  return Group(group);
}

/// As couplet_group_split: the group of the members that give the same color; nothing if the color is negative.
[[nodiscard]] inline std::optional<Group> split(const Group& group, const std::string& name, std::int32_t color,
                                                std::int32_t key = 0, const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options = detail::c_options(options);
  couplet_group* made = nullptr;
  detail::check(couplet_group_split(group.handle(), name.c_str(), color, key, &c_options, &made));
  return made == nullptr ? std::nullopt : std::optional<Group>(Group(made));
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
  const couplet_collective_options c_options = detail::c_options(options, data.size(), result.size());
  detail::check(couplet_reduce(group.handle(), data.data(), result.data(), data.size(), type_of<T>,
                               static_cast<couplet_operation>(operation), root, &c_options));
}
template <Element T>
[[nodiscard]] Request ireduce(const Group& group, std::span<const T> data, std::span<T> result, Operation operation,
                              std::int32_t root, const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options = detail::c_options(options, data.size(), result.size());
  couplet_request* request = nullptr;
  detail::check(couplet_ireduce(group.handle(), data.data(), result.data(), data.size(), type_of<T>,
                                static_cast<couplet_operation>(operation), root, &c_options, &request));
  return Request(request);
}

/// As couplet_allreduce.
template <Element T>
void allreduce(const Group& group, std::span<const T> data, std::span<T> result, Operation operation,
               const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options = detail::c_options(options, data.size(), result.size());
  detail::check(couplet_allreduce(group.handle(), data.data(), result.data(), data.size(), type_of<T>,
                                  static_cast<couplet_operation>(operation), &c_options));
}
template <Element T>
[[nodiscard]] Request iallreduce(const Group& group, std::span<const T> data, std::span<T> result, Operation operation,
                                 const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options = detail::c_options(options, data.size(), result.size());
  couplet_request* request = nullptr;
  detail::check(couplet_iallreduce(group.handle(), data.data(), result.data(), data.size(), type_of<T>,
                                   static_cast<couplet_operation>(operation), &c_options, &request));
  return Request(request);
}

/// As couplet_gather.
template <Element T>
void gather(const Group& group, std::span<const T> data, std::span<T> result, std::int32_t root,
            const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options = detail::c_options(options, data.size(), result.size());
  detail::check(couplet_gather(group.handle(), data.data(), data.size(), result.data(), type_of<T>, root, &c_options));
}
template <Element T>
[[nodiscard]] Request igather(const Group& group, std::span<const T> data, std::span<T> result, std::int32_t root,
                              const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options = detail::c_options(options, data.size(), result.size());
  couplet_request* request = nullptr;
  detail::check(
      couplet_igather(group.handle(), data.data(), data.size(), result.data(), type_of<T>, root, &c_options, &request));
  return Request(request);
}

/// As couplet_gatherv.
template <Element T>
void gatherv(const Group& group, std::span<const T> data, std::span<T> result, const BlockCounts& blocks,
             std::int32_t root, const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options =
      detail::c_options(options, data.size(), result.size(), detail::entries_of(blocks));
  detail::check(couplet_gatherv(group.handle(), data.data(), data.size(), result.data(), detail::or_null(blocks.counts),
                                detail::or_null(blocks.offsets), type_of<T>, root, &c_options));
}
template <Element T>
[[nodiscard]] Request igatherv(const Group& group, std::span<const T> data, std::span<T> result,
                               const BlockCounts& blocks, std::int32_t root, const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options =
      detail::c_options(options, data.size(), result.size(), detail::entries_of(blocks));
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
  const couplet_collective_options c_options = detail::c_options(options, data.size(), result.size());
  detail::check(couplet_allgather(group.handle(), data.data(), data.size(), result.data(), type_of<T>, &c_options));
}
template <Element T>
[[nodiscard]] Request iallgather(const Group& group, std::span<const T> data, std::span<T> result,
                                 const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options = detail::c_options(options, data.size(), result.size());
  couplet_request* request = nullptr;
  detail::check(
      couplet_iallgather(group.handle(), data.data(), data.size(), result.data(), type_of<T>, &c_options, &request));
  return Request(request);
}

/// As couplet_allgatherv.
template <Element T>
void allgatherv(const Group& group, std::span<const T> data, std::span<T> result, const BlockCounts& blocks,
                const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options =
      detail::c_options(options, data.size(), result.size(), detail::entries_of(blocks));
  detail::check(couplet_allgatherv(group.handle(), data.data(), result.data(), detail::or_null(blocks.counts),
                                   detail::or_null(blocks.offsets), type_of<T>, &c_options));
}
template <Element T>
[[nodiscard]] Request iallgatherv(const Group& group, std::span<const T> data, std::span<T> result,
                                  const BlockCounts& blocks, const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options =
      detail::c_options(options, data.size(), result.size(), detail::entries_of(blocks));
  couplet_request* request = nullptr;
  detail::check(couplet_iallgatherv(group.handle(), data.data(), result.data(), detail::or_null(blocks.counts),
                                    detail::or_null(blocks.offsets), type_of<T>, &c_options, &request));
  return Request(request);
}

/// As couplet_scatter.
template <Element T>
void scatter(const Group& group, std::span<const T> data, std::span<T> result, std::int32_t root,
             const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options = detail::c_options(options, data.size(), result.size());
  detail::check(
      couplet_scatter(group.handle(), data.data(), result.data(), result.size(), type_of<T>, root, &c_options));
}
template <Element T>
[[nodiscard]] Request iscatter(const Group& group, std::span<const T> data, std::span<T> result, std::int32_t root,
                               const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options = detail::c_options(options, data.size(), result.size());
  couplet_request* request = nullptr;
  detail::check(couplet_iscatter(group.handle(), data.data(), result.data(), result.size(), type_of<T>, root,
                                 &c_options, &request));
  return Request(request);
}

/// As couplet_scatterv.
template <Element T>
void scatterv(const Group& group, std::span<const T> data, const BlockCounts& blocks, std::span<T> result,
              std::int32_t root, const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options =
      detail::c_options(options, data.size(), result.size(), detail::entries_of(blocks));
  detail::check(couplet_scatterv(group.handle(), data.data(), detail::or_null(blocks.counts),
                                 detail::or_null(blocks.offsets), result.data(), result.size(), type_of<T>, root,
                                 &c_options));
}
template <Element T>
[[nodiscard]] Request iscatterv(const Group& group, std::span<const T> data, const BlockCounts& blocks,
                                std::span<T> result, std::int32_t root, const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options =
      detail::c_options(options, data.size(), result.size(), detail::entries_of(blocks));
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
  const couplet_collective_options c_options = detail::c_options(options, data.size(), result.size());
  detail::check(
      couplet_alltoall(group.handle(), data.data(), result.data(), data.size() / size, type_of<T>, &c_options));
}
template <Element T>
[[nodiscard]] Request ialltoall(const Group& group, std::span<const T> data, std::span<T> result,
                                const CollectiveOptions& options = {}) {
  const auto size = static_cast<std::size_t>(group.size());
  const couplet_collective_options c_options = detail::c_options(options, data.size(), result.size());
  couplet_request* request = nullptr;
  detail::check(couplet_ialltoall(group.handle(), data.data(), result.data(), data.size() / size, type_of<T>,
                                  &c_options, &request));
  return Request(request);
}

/// As couplet_alltoallv.
template <Element T>
void alltoallv(const Group& group, std::span<const T> data, const BlockCounts& blocks, std::span<T> result,
               const BlockCounts& result_blocks, const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options =
      detail::c_options(options, data.size(), result.size(), detail::entries_of(blocks, result_blocks));
  detail::check(couplet_alltoallv(group.handle(), data.data(), detail::or_null(blocks.counts),
                                  detail::or_null(blocks.offsets), result.data(), detail::or_null(result_blocks.counts),
                                  detail::or_null(result_blocks.offsets), type_of<T>, &c_options));
}
template <Element T>
[[nodiscard]] Request ialltoallv(const Group& group, std::span<const T> data, const BlockCounts& blocks,
                                 std::span<T> result, const BlockCounts& result_blocks,
                                 const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options =
      detail::c_options(options, data.size(), result.size(), detail::entries_of(blocks, result_blocks));
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
  const couplet_collective_options c_options = detail::c_options(options, data.size(), result.size(), counts.size());
  detail::check(couplet_reduce_scatter(group.handle(), data.data(), result.data(), counts.data(), type_of<T>,
                                       static_cast<couplet_operation>(operation), &c_options));
}
template <Element T>
[[nodiscard]] Request ireduce_scatter(const Group& group, std::span<const T> data, std::span<T> result,
                                      std::span<const std::uint64_t> counts, Operation operation,
                                      const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options = detail::c_options(options, data.size(), result.size(), counts.size());
  couplet_request* request = nullptr;
  detail::check(couplet_ireduce_scatter(group.handle(), data.data(), result.data(), counts.data(), type_of<T>,
                                        static_cast<couplet_operation>(operation), &c_options, &request));
  return Request(request);
}

/// As couplet_scan.
template <Element T>
void scan(const Group& group, std::span<const T> data, std::span<T> result, Operation operation,
          const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options = detail::c_options(options, data.size(), result.size());
  detail::check(couplet_scan(group.handle(), data.data(), result.data(), data.size(), type_of<T>,
                             static_cast<couplet_operation>(operation), &c_options));
}
template <Element T>
[[nodiscard]] Request iscan(const Group& group, std::span<const T> data, std::span<T> result, Operation operation,
                            const CollectiveOptions& options = {}) {
  const couplet_collective_options c_options = detail::c_options(options, data.size(), result.size());
  couplet_request* request = nullptr;
  detail::check(couplet_iscan(group.handle(), data.data(), result.data(), data.size(), type_of<T>,
                              static_cast<couplet_operation>(operation), &c_options, &request));
  return Request(request);
}

}  // namespace couplet

#endif
