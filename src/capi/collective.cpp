#include <cstddef>
#include <string_view>
#include <vector>

#include "capi/call.hpp"
#include "capi/options.hpp"
#include "collective/split.hpp"
#include "cost/collective_method.hpp"

namespace couplet::capi {

couplet::collective::Collectives& collectives_of(couplet_universe& universe) {
  if (universe.collectives == nullptr) {
    universe.collectives = make_collectives(*universe.universe);
  }
  return *universe.collectives;
}

}  // namespace couplet::capi

namespace {

using couplet::Code;
using couplet::fail;
using couplet::Status;
using couplet::collective::Arguments;
using couplet::cost::Collective;
namespace capi = couplet::capi;

// Completes the arguments by the options.
Status take_options(const couplet_collective_options* given, Arguments& arguments, const char* function) {
  COUPLET_TRY_VALUE(const auto options, capi::complete(given, couplet_collective_options_init, function));
  COUPLET_TRY(capi::check_timeout(options.timeout_s, function));
  if (options.method < 0 || options.method >= couplet::cost::method_count) {
    return fail(Code::argument,
                "{}: method is {}; COUPLET_COLLECTIVE_AUTOMATIC to COUPLET_COLLECTIVE_SYSTEMS are 0 to {}", function,
                options.method, couplet::cost::method_count - 1);
  }
  arguments.timeout_s = options.timeout_s;
  arguments.sizes.input = options.data_size;
  arguments.sizes.output = options.result_size;
  arguments.sizes.counts = options.counts_size;
  arguments.method = static_cast<couplet::cost::Method>(options.method);
  return {};
}

// Makes a collective call. Every call that a member makes is counted, also one that is wrong, since the others make it,
// too. One for which there is no memory before it can be counted is counted with the next one.
template <typename Body>
couplet_status counted_call(couplet_group* group, const char* function, const Body& body) {
  return capi::call(group, function, [&]() -> Status {
    couplet::collective::Collectives* calls = nullptr;
    try {
      calls = &capi::collectives_of(*group->owner);
    } catch (const std::bad_alloc&) {
      if (group->group->rank() >= 0) ++group->group->uncounted_calls;
      return Code::memory;
    }
    return body(*calls);
  });
}

// Returns the error with its text, or without it if there is no memory.
Status status_of(couplet_status error, const char* text) noexcept {
  try {
    return {static_cast<Code>(error), text};
  } catch (const std::bad_alloc&) {
    return static_cast<Code>(error);
  }
}

couplet_status run(couplet_group* group, Arguments arguments, const couplet_collective_options* options,
                   const char* function) {
  return counted_call(group, function, [&](couplet::collective::Collectives& calls) -> Status {
    const Status taken = take_options(options, arguments, function);
    return taken.ok() ? calls.run(*group->group, arguments) : calls.refuse(*group->group, name_of(arguments), taken);
  });
}

couplet_status start(couplet_group* group, Arguments arguments, const couplet_collective_options* options,
                     couplet_request** request, const char* function) {
  return counted_call(group, function, [&](couplet::collective::Collectives& calls) -> Status {
    Status taken = capi::given(request, function, "request");
    if (taken.ok()) taken = take_options(options, arguments, function);
    if (!taken.ok()) return calls.refuse(*group->group, name_of(arguments), taken);
    couplet::message::Request* made = nullptr;
    COUPLET_TRY(calls.start(*group->group, arguments, &made));
    *request = reinterpret_cast<couplet_request*>(made);
    return {};
  });
}

Arguments barrier_arguments() {
  return {.kind = Collective::barrier};
}

Arguments broadcast_arguments(void* data, uint64_t count, couplet_type type, int32_t root) {
  return {.kind = Collective::broadcast, .type = type, .root = root, .count = count, .output = data};
}

Arguments reduce_arguments(const void* data, void* result, uint64_t count, couplet_type type,
                           couplet_operation operation, int32_t root) {
  return {.kind = Collective::reduce,
          .type = type,
          .operation = operation,
          .root = root,
          .count = count,
          .input = data,
          .output = result};
}

Arguments allreduce_arguments(const void* data, void* result, uint64_t count, couplet_type type,
                              couplet_operation operation) {
  return {.kind = Collective::allreduce,
          .type = type,
          .operation = operation,
          .count = count,
          .input = data,
          .output = result};
}

Arguments gather_arguments(const void* data, uint64_t count, void* result, couplet_type type, int32_t root) {
  return {.kind = Collective::gather, .type = type, .root = root, .count = count, .input = data, .output = result};
}

Arguments gatherv_arguments(const void* data, uint64_t count, void* result, const uint64_t* counts,
                            const uint64_t* offsets, couplet_type type, int32_t root) {
  return {.kind = Collective::gather,
          .uneven = true,
          .type = type,
          .root = root,
          .count = count,
          .input = data,
          .output = result,
          .output_counts = counts,
          .output_offsets = offsets};
}

Arguments allgather_arguments(const void* data, uint64_t count, void* result, couplet_type type) {
  return {.kind = Collective::allgather, .type = type, .count = count, .input = data, .output = result};
}

Arguments allgatherv_arguments(const void* data, void* result, const uint64_t* counts, const uint64_t* offsets,
                               couplet_type type) {
  return {.kind = Collective::allgather,
          .uneven = true,
          .type = type,
          .input = data,
          .output = result,
          .output_counts = counts,
          .output_offsets = offsets};
}

Arguments scatter_arguments(const void* data, void* result, uint64_t count, couplet_type type, int32_t root) {
  return {.kind = Collective::scatter, .type = type, .root = root, .count = count, .input = data, .output = result};
}

Arguments scatterv_arguments(const void* data, const uint64_t* counts, const uint64_t* offsets, void* result,
                             uint64_t count, couplet_type type, int32_t root) {
  return {.kind = Collective::scatter,
          .uneven = true,
          .type = type,
          .root = root,
          .count = count,
          .input = data,
          .output = result,
          .input_counts = counts,
          .input_offsets = offsets};
}

Arguments alltoall_arguments(const void* data, void* result, uint64_t count, couplet_type type) {
  return {.kind = Collective::alltoall, .type = type, .count = count, .input = data, .output = result};
}

Arguments alltoallv_arguments(const void* data, const uint64_t* counts, const uint64_t* offsets, void* result,
                              const uint64_t* result_counts, const uint64_t* result_offsets, couplet_type type) {
  return {.kind = Collective::alltoall,
          .uneven = true,
          .type = type,
          .input = data,
          .output = result,
          .input_counts = counts,
          .input_offsets = offsets,
          .output_counts = result_counts,
          .output_offsets = result_offsets};
}

Arguments reduce_scatter_arguments(const void* data, void* result, const uint64_t* counts, couplet_type type,
                                   couplet_operation operation) {
  return {.kind = Collective::reduce_scatter,
          .uneven = true,
          .type = type,
          .operation = operation,
          .input = data,
          .output = result,
          .input_counts = counts};
}

Arguments scan_arguments(const void* data, void* result, uint64_t count, couplet_type type,
                         couplet_operation operation) {
  return {
      .kind = Collective::scan, .type = type, .operation = operation, .count = count, .input = data, .output = result};
}

// A call whose name is that of a function without "couplet_".
struct NamedCall {
  Collective kind;
  bool uneven;
};

couplet::Result<NamedCall> call_of(std::string_view call) {
  std::string known;
  for (auto number = static_cast<int>(Collective::barrier); number <= static_cast<int>(Collective::scan); ++number) {
    const auto kind = static_cast<Collective>(number);
    for (const bool uneven : {false, true}) {
      const std::string name = couplet::collective::name_of(kind, uneven);
      if (name == call || "i" + name == call) {
        return NamedCall{kind, uneven};
      }
    }
    known += (known.empty() ? "" : ", ") + std::string(couplet::cost::name_of(kind));
  }
  return fail(Code::not_found, "couplet_collective_method: there is no collective call '{}'; there are {}", call,
              known);
}

}  // namespace

extern "C" {

void couplet_collective_options_init(couplet_collective_options* options) {
  *options = couplet_collective_options{};
  options->struct_bytes = sizeof *options;
  options->timeout_s = -1;
  options->method = COUPLET_COLLECTIVE_AUTOMATIC;
  options->data_size = options->result_size = options->counts_size = UINT64_MAX;
}

couplet_status couplet_operation_create(couplet_universe* universe, const char* name, couplet_combine combine,
                                        void* context, int32_t commutative, couplet_operation* operation) {
  constexpr auto function = "couplet_operation_create";
  return capi::call(universe, function, [&]() -> Status {
    COUPLET_TRY(capi::given(name, function, "name"));
    COUPLET_TRY(capi::given(operation, function, "operation"));
    COUPLET_TRY_VALUE(*operation,
                      capi::collectives_of(*universe).operations().add({name, combine, context, commutative != 0}));
    return {};
  });
}

couplet_status couplet_collective_method(couplet_group* group, const char* call, uint64_t bytes, const char** method) {
  constexpr auto function = "couplet_collective_method";
  return capi::call(group, function, [&]() -> Status {
    COUPLET_TRY(capi::given(call, function, "call"));
    COUPLET_TRY(capi::given(method, function, "method"));
    COUPLET_TRY_VALUE(const NamedCall named, call_of(call));
    couplet::collective::Collectives& calls = capi::collectives_of(*group->owner);
    *method = couplet::cost::name_of(calls.method_for(*group->group, named.kind, named.uneven, bytes).method).data();
    return {};
  });
}

couplet_status couplet_collective_refuse(couplet_group* group, const char* call, couplet_status error,
                                         const char* text) {
  constexpr auto function = "couplet_collective_refuse";
  return counted_call(group, function, [&](couplet::collective::Collectives& calls) -> Status {
    Status why = capi::given(call, function, "call");
    if (why.ok()) why = capi::given(text, function, "text");
    if (why.ok() && (error >= 0 || std::string_view(couplet_status_name(error)) == "unknown")) {
      why = fail(Code::argument, "{}: error is {}, which is no COUPLET_ERROR_*", function, error);
    }
    if (why.ok()) why = status_of(error, text);
    return calls.refuse(*group->group, call == nullptr ? "a call" : call, why);
  });
}

couplet_status couplet_group_split(couplet_group* group, const char* name, int32_t color, int32_t key,
                                   const couplet_collective_options* options, couplet_group** made) {
  constexpr auto function = "couplet_group_split";
  return counted_call(group, function, [&](couplet::collective::Collectives& calls) -> Status {
    couplet::message::Group& whole = *group->group;
    std::vector<couplet::collective::SplitRow> rows;
    try {
      rows.resize(static_cast<std::size_t>(whole.size()));
    } catch (const std::bad_alloc&) {
      return calls.refuse(whole, "split", Code::memory);
    }
    Arguments arguments = allgather_arguments(nullptr, couplet::collective::split_words, rows.data(), COUPLET_INT64);
    Status taken = capi::given(name, function, "name");
    if (taken.ok()) taken = capi::given(made, function, "made");
    if (taken.ok()) taken = take_options(options, arguments, function);
    if (!taken.ok()) return calls.refuse(whole, "split", taken);
    const auto universe_rank = group->owner->universe->membership().rank();
    const auto own = couplet::collective::split_row({color >= 0, color, key, universe_rank}, name);
    arguments.input = own.data();
    arguments.sizes = {};
    COUPLET_TRY(calls.run(whole, arguments));
    COUPLET_TRY_VALUE(const auto members, couplet::collective::split_members(rows, own));
    *made = nullptr;
    if (color < 0) return {};
    return capi::create_group(*group->owner, couplet::collective::split_name(name, color), members, made);
  });
}

couplet_status couplet_barrier(couplet_group* group, const couplet_collective_options* options) {
  return run(group, barrier_arguments(), options, "couplet_barrier");
}

couplet_status couplet_ibarrier(couplet_group* group, const couplet_collective_options* options,
                                couplet_request** request) {
  return start(group, barrier_arguments(), options, request, "couplet_ibarrier");
}

couplet_status couplet_broadcast(couplet_group* group, void* data, uint64_t count, couplet_type type, int32_t root,
                                 const couplet_collective_options* options) {
  return run(group, broadcast_arguments(data, count, type, root), options, "couplet_broadcast");
}

couplet_status couplet_ibroadcast(couplet_group* group, void* data, uint64_t count, couplet_type type, int32_t root,
                                  const couplet_collective_options* options, couplet_request** request) {
  return start(group, broadcast_arguments(data, count, type, root), options, request, "couplet_ibroadcast");
}

couplet_status couplet_reduce(couplet_group* group, const void* data, void* result, uint64_t count, couplet_type type,
                              couplet_operation operation, int32_t root, const couplet_collective_options* options) {
  return run(group, reduce_arguments(data, result, count, type, operation, root), options, "couplet_reduce");
}

couplet_status couplet_ireduce(couplet_group* group, const void* data, void* result, uint64_t count, couplet_type type,
                               couplet_operation operation, int32_t root, const couplet_collective_options* options,
                               couplet_request** request) {
  return start(group, reduce_arguments(data, result, count, type, operation, root), options, request,
               "couplet_ireduce");
}

couplet_status couplet_allreduce(couplet_group* group, const void* data, void* result, uint64_t count,
                                 couplet_type type, couplet_operation operation,
                                 const couplet_collective_options* options) {
  return run(group, allreduce_arguments(data, result, count, type, operation), options, "couplet_allreduce");
}

couplet_status couplet_iallreduce(couplet_group* group, const void* data, void* result, uint64_t count,
                                  couplet_type type, couplet_operation operation,
                                  const couplet_collective_options* options, couplet_request** request) {
  return start(group, allreduce_arguments(data, result, count, type, operation), options, request,
               "couplet_iallreduce");
}

couplet_status couplet_gather(couplet_group* group, const void* data, uint64_t count, void* result, couplet_type type,
                              int32_t root, const couplet_collective_options* options) {
  return run(group, gather_arguments(data, count, result, type, root), options, "couplet_gather");
}

couplet_status couplet_igather(couplet_group* group, const void* data, uint64_t count, void* result, couplet_type type,
                               int32_t root, const couplet_collective_options* options, couplet_request** request) {
  return start(group, gather_arguments(data, count, result, type, root), options, request, "couplet_igather");
}

couplet_status couplet_gatherv(couplet_group* group, const void* data, uint64_t count, void* result,
                               const uint64_t* counts, const uint64_t* offsets, couplet_type type, int32_t root,
                               const couplet_collective_options* options) {
  return run(group, gatherv_arguments(data, count, result, counts, offsets, type, root), options, "couplet_gatherv");
}

couplet_status couplet_igatherv(couplet_group* group, const void* data, uint64_t count, void* result,
                                const uint64_t* counts, const uint64_t* offsets, couplet_type type, int32_t root,
                                const couplet_collective_options* options, couplet_request** request) {
  return start(group, gatherv_arguments(data, count, result, counts, offsets, type, root), options, request,
               "couplet_igatherv");
}

couplet_status couplet_allgather(couplet_group* group, const void* data, uint64_t count, void* result,
                                 couplet_type type, const couplet_collective_options* options) {
  return run(group, allgather_arguments(data, count, result, type), options, "couplet_allgather");
}

couplet_status couplet_iallgather(couplet_group* group, const void* data, uint64_t count, void* result,
                                  couplet_type type, const couplet_collective_options* options,
                                  couplet_request** request) {
  return start(group, allgather_arguments(data, count, result, type), options, request, "couplet_iallgather");
}

couplet_status couplet_allgatherv(couplet_group* group, const void* data, void* result, const uint64_t* counts,
                                  const uint64_t* offsets, couplet_type type,
                                  const couplet_collective_options* options) {
  return run(group, allgatherv_arguments(data, result, counts, offsets, type), options, "couplet_allgatherv");
}

couplet_status couplet_iallgatherv(couplet_group* group, const void* data, void* result, const uint64_t* counts,
                                   const uint64_t* offsets, couplet_type type,
                                   const couplet_collective_options* options, couplet_request** request) {
  return start(group, allgatherv_arguments(data, result, counts, offsets, type), options, request,
               "couplet_iallgatherv");
}

couplet_status couplet_scatter(couplet_group* group, const void* data, void* result, uint64_t count, couplet_type type,
                               int32_t root, const couplet_collective_options* options) {
  return run(group, scatter_arguments(data, result, count, type, root), options, "couplet_scatter");
}

couplet_status couplet_iscatter(couplet_group* group, const void* data, void* result, uint64_t count, couplet_type type,
                                int32_t root, const couplet_collective_options* options, couplet_request** request) {
  return start(group, scatter_arguments(data, result, count, type, root), options, request, "couplet_iscatter");
}

couplet_status couplet_scatterv(couplet_group* group, const void* data, const uint64_t* counts, const uint64_t* offsets,
                                void* result, uint64_t count, couplet_type type, int32_t root,
                                const couplet_collective_options* options) {
  return run(group, scatterv_arguments(data, counts, offsets, result, count, type, root), options, "couplet_scatterv");
}

couplet_status couplet_iscatterv(couplet_group* group, const void* data, const uint64_t* counts,
                                 const uint64_t* offsets, void* result, uint64_t count, couplet_type type, int32_t root,
                                 const couplet_collective_options* options, couplet_request** request) {
  return start(group, scatterv_arguments(data, counts, offsets, result, count, type, root), options, request,
               "couplet_iscatterv");
}

couplet_status couplet_alltoall(couplet_group* group, const void* data, void* result, uint64_t count, couplet_type type,
                                const couplet_collective_options* options) {
  return run(group, alltoall_arguments(data, result, count, type), options, "couplet_alltoall");
}

couplet_status couplet_ialltoall(couplet_group* group, const void* data, void* result, uint64_t count,
                                 couplet_type type, const couplet_collective_options* options,
                                 couplet_request** request) {
  return start(group, alltoall_arguments(data, result, count, type), options, request, "couplet_ialltoall");
}

couplet_status couplet_alltoallv(couplet_group* group, const void* data, const uint64_t* counts,
                                 const uint64_t* offsets, void* result, const uint64_t* result_counts,
                                 const uint64_t* result_offsets, couplet_type type,
                                 const couplet_collective_options* options) {
  return run(group, alltoallv_arguments(data, counts, offsets, result, result_counts, result_offsets, type), options,
             "couplet_alltoallv");
}

couplet_status couplet_ialltoallv(couplet_group* group, const void* data, const uint64_t* counts,
                                  const uint64_t* offsets, void* result, const uint64_t* result_counts,
                                  const uint64_t* result_offsets, couplet_type type,
                                  const couplet_collective_options* options, couplet_request** request) {
  return start(group, alltoallv_arguments(data, counts, offsets, result, result_counts, result_offsets, type), options,
               request, "couplet_ialltoallv");
}

couplet_status couplet_reduce_scatter(couplet_group* group, const void* data, void* result, const uint64_t* counts,
                                      couplet_type type, couplet_operation operation,
                                      const couplet_collective_options* options) {
  return run(group, reduce_scatter_arguments(data, result, counts, type, operation), options, "couplet_reduce_scatter");
}

couplet_status couplet_ireduce_scatter(couplet_group* group, const void* data, void* result, const uint64_t* counts,
                                       couplet_type type, couplet_operation operation,
                                       const couplet_collective_options* options, couplet_request** request) {
  return start(group, reduce_scatter_arguments(data, result, counts, type, operation), options, request,
               "couplet_ireduce_scatter");
}

couplet_status couplet_scan(couplet_group* group, const void* data, void* result, uint64_t count, couplet_type type,
                            couplet_operation operation, const couplet_collective_options* options) {
  return run(group, scan_arguments(data, result, count, type, operation), options, "couplet_scan");
}

couplet_status couplet_iscan(couplet_group* group, const void* data, void* result, uint64_t count, couplet_type type,
                             couplet_operation operation, const couplet_collective_options* options,
                             couplet_request** request) {
  return start(group, scan_arguments(data, result, count, type, operation), options, request, "couplet_iscan");
}

}  // extern "C"
