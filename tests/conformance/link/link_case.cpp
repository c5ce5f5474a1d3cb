#include "link_case.hpp"

#include <poll.h>

namespace couplet::conformance {

namespace {

struct Wrapped final : Connection {
  std::unique_ptr<Connection> inner;
  void pause() override { inner->pause(); }
};

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
  return {name, [link, options, seed, counts] {
            auto wrapped = std::make_unique<Wrapped>();
            wrapped->inner = link.make();
            wrapped->first = make_fault_lane(std::move(wrapped->inner->first), options, seed, counts);
            if (wrapped->inner->second) {
              wrapped->second = make_fault_lane(std::move(wrapped->inner->second), options, seed + 1, counts);
            }
            return std::unique_ptr<Connection>(std::move(wrapped));
          }};
}

}  // namespace couplet::conformance
