#include <span>

#include "capi/call.hpp"
#include "capi/options.hpp"
#include "capi/private.h"
#include "os/clock.hpp"

namespace {

using couplet::Code;
using couplet::fail;
using couplet::Status;
using couplet::message::Request;
namespace capi = couplet::capi;

Request** inner(couplet_request** request) {
  return reinterpret_cast<Request**>(request);
}

// Returns the universe to which a pending request belongs.
couplet_universe* owner_of(const couplet_request* request) {
  return static_cast<couplet_universe*>(reinterpret_cast<const Request*>(request)->group->owner);
}

couplet::message::Messenger& messenger_of(couplet_universe* universe) {
  return universe->universe->messenger();
}

// The subject of a call that completes requests.
struct CompletedRequests {
  couplet_request** requests;
  int32_t count;
  [[nodiscard]] capi::Handles handles() const {
    capi::Handles handles;
    handles.add_completed(count, requests);
    return handles;
  }
  [[nodiscard]] static Status check(const char* /*function*/) { return {}; }
};

template <typename Body>
couplet_status on_requests(int32_t count, couplet_request** requests, const char* function, Body&& body) {
  return capi::guarded([&]() -> Status {
    if (count < 0 || (count > 0 && requests == nullptr)) {
      return fail(Code::argument, "{}: count is {} and requests is {}", function, count,
                  requests == nullptr ? "NULL" : "given");
    }
    couplet_universe* universe = nullptr;
    for (int32_t index = 0; index < count; ++index) {
      if (requests[index] == nullptr) {
        continue;
      }
      couplet_universe* owner = owner_of(requests[index]);
      if (universe != nullptr && owner != universe) {
        return fail(Code::argument, "{}: requests[{}] belongs to another universe than the requests before it",
                    function, index);
      }
      universe = owner;
    }
    if (universe == nullptr) {
      return body(nullptr);
    }
    COUPLET_TRY(capi::usable(universe, function));
    return capi::within_turn(*universe, CompletedRequests{requests, count}, function, [&]() -> Status {
      COUPLET_TRY(capi::end_others(*universe, function));
      return body(universe);
    });
  });
}

}  // namespace

extern "C" {

couplet_status couplet_send(couplet_group* group, const void* data, uint64_t count, couplet_type type, int32_t target,
                            int32_t tag) {
  return capi::call(group, "couplet_send",
                    [=] { return messenger_of(group->owner).send(*group->group, data, count, type, target, tag); });
}

couplet_status couplet_recv(couplet_group* group, void* data, uint64_t count, couplet_type type, int32_t source,
                            int32_t tag, couplet_message* message) {
  return capi::call(group, "couplet_recv", [=] {
    return messenger_of(group->owner).recv(*group->group, data, count, type, source, tag, message);
  });
}

couplet_status couplet_isend(couplet_group* group, const void* data, uint64_t count, couplet_type type, int32_t target,
                             int32_t tag, couplet_request** request) {
  return capi::call(group, "couplet_isend", [=]() -> Status {
    COUPLET_TRY(capi::given(request, "couplet_isend", "request"));
    return messenger_of(group->owner).isend(*group->group, data, count, type, target, tag, inner(request));
  });
}

couplet_status couplet_irecv(couplet_group* group, void* data, uint64_t count, couplet_type type, int32_t source,
                             int32_t tag, couplet_request** request) {
  return capi::call(group, "couplet_irecv", [=]() -> Status {
    COUPLET_TRY(capi::given(request, "couplet_irecv", "request"));
    return messenger_of(group->owner).irecv(*group->group, data, count, type, source, tag, inner(request));
  });
}

couplet_status couplet_wait(couplet_request** request, double timeout_s, couplet_message* message) {
  return on_requests(request == nullptr ? -1 : 1, request, "couplet_wait", [&](couplet_universe* universe) -> Status {
    COUPLET_TRY(capi::check_timeout(timeout_s, "couplet_wait"));
    return universe == nullptr
               ? Status()
               : messenger_of(universe).wait(inner(request), couplet::os::deadline_after(timeout_s), message);
  });
}

couplet_status couplet_test(couplet_request** request, int32_t* done, couplet_message* message) {
  return on_requests(request == nullptr ? -1 : 1, request, "couplet_test", [&](couplet_universe* universe) -> Status {
    COUPLET_TRY(capi::given(done, "couplet_test", "done"));
    const Status status = universe == nullptr ? Status() : messenger_of(universe).test(inner(request), message);
    *done = status.code() == Code::not_yet ? 0 : 1;
    return status.code() == Code::not_yet ? Status() : status;
  });
}

couplet_status couplet_private_withdraw(couplet_request** request) {
  return on_requests(request == nullptr ? -1 : 1, request, "withdraw", [&](couplet_universe* universe) -> Status {
    if (universe != nullptr) {
      messenger_of(universe).withdraw(inner(request));
    }
    if (universe != nullptr && *request != nullptr && universe->collectives != nullptr) {
      universe->collectives->interrupt(**inner(request));
    }
    return {};
  });
}

couplet_status couplet_waitall(int32_t count, couplet_request** requests, double timeout_s, couplet_status* statuses,
                               couplet_message* messages) {
  return on_requests(count, requests, "couplet_waitall", [&](couplet_universe* universe) -> Status {
    COUPLET_TRY(capi::check_timeout(timeout_s, "couplet_waitall"));
    if (universe == nullptr) {
      std::fill_n(statuses, statuses == nullptr ? 0 : count, COUPLET_OK);
      return {};
    }
    return messenger_of(universe).waitall({inner(requests), static_cast<std::size_t>(count)},
                                          couplet::os::deadline_after(timeout_s), statuses, messages);
  });
}

couplet_status couplet_waitany(int32_t count, couplet_request** requests, double timeout_s, int32_t* index,
                               couplet_message* message) {
  return on_requests(count, requests, "couplet_waitany", [&](couplet_universe* universe) -> Status {
    COUPLET_TRY(capi::check_timeout(timeout_s, "couplet_waitany"));
    COUPLET_TRY(capi::given(index, "couplet_waitany", "index"));
    if (universe == nullptr) {
      *index = -1;
      return {};
    }
    return messenger_of(universe).waitany({inner(requests), static_cast<std::size_t>(count)},
                                          couplet::os::deadline_after(timeout_s), index, message);
  });
}

}  // extern "C"
