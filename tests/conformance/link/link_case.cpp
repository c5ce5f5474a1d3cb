#include "link_case.hpp"

#include <poll.h>

namespace couplet::conformance {

namespace {

struct Wrapped final : Connection {
  std::unique_ptr<Connection> inner;
  void pause() override { inner->pause(); }
};

std::unique_ptr<Connection> wrap(std::unique_ptr<Connection> inner, const link::FaultOptions& options,
                                 std::uint64_t seed, link::FaultCounts* counts) {
  auto wrapped = std::make_unique<Wrapped>();
  wrapped->inner = std::move(inner);
  wrapped->policy = wrapped->inner->policy;
  link::FaultOptions named = options;
  if (wrapped->policy.rule == channel::LaneRule::by_size) {
    named.name = wrapped->inner->first->traits().name;  // says what the lane is for
  }
  wrapped->first = make_fault_lane(std::move(wrapped->inner->first), named, seed, counts);
  if (wrapped->inner->second) {
    wrapped->second = make_fault_lane(std::move(wrapped->inner->second), named, seed + 1, counts);
  }
  for (auto& other : wrapped->inner->more) {
    other->policy = wrapped->policy;
    wrapped->more.push_back(wrap(std::move(other), options, seed += 2, counts));
  }
  return wrapped;
}

}  // namespace

void Connection::pause() {
  pollfd watched[2] = {};
  nfds_t count = 0;
  for (const auto& lane : {first.get(), second.get()}) {
    if (lane != nullptr && lane->descriptor() >= 0) {
      watched[count].fd = lane->descriptor();
      watched[count].events = static_cast<short>(POLLIN | (lane->want_write() ? POLLOUT : 0));
      ++count;
    }
  }
  if (count > 0) {
    ::poll(watched, count, 1);
  }
}

LinkCase with_faults(const LinkCase& link, const std::string& name, const link::FaultOptions& options,
                     std::uint64_t seed, link::FaultCounts* counts) {
  return {name, [link, options, seed, counts] { return wrap(link.make(), options, seed, counts); }};
}

}  // namespace couplet::conformance
