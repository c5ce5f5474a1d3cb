#include "exchange/rounds.hpp"

#include <cstring>
#include <new>

#include "base/raised_flag.hpp"
#include "exchange/pack.hpp"
#include "wire/numbers.hpp"

namespace couplet::exchange {
namespace {

constexpr std::uint32_t own_port = UINT32_MAX;

}  // namespace

Rounds::Rounds(std::span<const Edge> edges, const Routes& routes, Method& method)
    : edges_(edges), routes_(routes), method_(method) {
  lengths_.reserve(edges.size());
  for (const Edge& edge : edges) lengths_.push_back(edge.bytes());
  port_of_.assign(edges.size(), own_port);
  sending_.reserve(routes.ports.size());
  receiving_.reserve(routes.ports.size());
  arrivals_.resize(routes.ports.size(), Arrival::none);
  traffic_.resize(routes.ports.size());
  for (std::uint32_t port = 0; port < routes.ports.size(); ++port) {
    for (const std::uint32_t edge : routes.out[port].edges) port_of_[edge] = port;
    for (const std::uint32_t edge : routes.in[port].edges) port_of_[edge] = port;
    traffic_[port].peer = routes.ports[port].peer;
    if (routes.ports[port].sends) sending_.push_back(port);
    if (routes.ports[port].receives) receiving_.push_back(port);
  }
  if (routes.self_out.max_bytes > 0) own_message_ = make_buffer(routes.self_out.max_bytes);
}

void Rounds::choose_ports() {
  if (routes_.is_plain) return;  // always the same
  sending_.clear();
  receiving_.clear();
  for (std::uint32_t port = 0; port < routes_.ports.size(); ++port) {
    if (routes_.out[port].takes_part(edges_, count_ - 1)) sending_.push_back(port);
    if (routes_.in[port].takes_part(edges_, count_ - 1)) receiving_.push_back(port);
  }
}

Progress Rounds::start() noexcept {
  ++count_;
  state_.progress = Progress::waiting;
  const RaisedFlag moving(state_.is_moving);
  try {
    choose_ports();
    for (const std::uint32_t port : receiving_) arrivals_[port] = Arrival::awaited;
    sent_ = taken_ = 0;
    if (Status begun = method_.begin(sending_, receiving_); !begun.ok()) return fail_with(std::move(begun));
    if (!send_some() || routes_.self_out.edges.empty()) return state_.progress;
    if (Status copied = copy_own(); !copied.ok()) return fail_with(std::move(copied));
  } catch (const std::bad_alloc&) {
    return fail_with(Code::memory);
  }
  return state_.progress;
}

// Packs and sends messages until a port has no room. Returns false after an error. The ports are served in order: a
// port without room delays the ports after it, but none of the messages that were sent before.
bool Rounds::send_some() {
  if (sent_ > sending_.size()) return true;
  for (; sent_ < sending_.size(); ++sent_) {
    const std::uint32_t port = sending_[sent_];
    std::byte* const target = method_.outgoing(port);
    if (target == nullptr) return true;
    const std::uint64_t bytes = pack_route(routes_.out[port], target);
    if (Status sent = method_.send(port, bytes); !sent.ok()) return fail_with(std::move(sent)) != Progress::failed;
    ++traffic_[port].sent_messages;
    traffic_[port].sent_bytes += bytes;
  }
  ++sent_;  // all_sent() is called once
  if (Status all = method_.all_sent(); !all.ok()) return fail_with(std::move(all)) != Progress::failed;
  return true;
}

bool Rounds::take_some() {
  for (const std::uint32_t port : receiving_) {
    if (arrivals_[port] != Arrival::awaited || !method_.has_arrived(port)) continue;
    if (Status taken = take(port); !taken.ok()) return fail_with(std::move(taken)) != Progress::failed;
    arrivals_[port] = Arrival::here;
    ++taken_;
  }
  return true;
}

Progress Rounds::advance() noexcept {
  if (state_.progress != Progress::waiting || state_.is_moving) return state_.progress;
  const RaisedFlag moving(state_.is_moving);
  try {
    if (Status polled = method_.poll(); !polled.ok()) return fail_with(std::move(polled));
    if (!send_some() || !take_some()) return state_.progress;
    if (taken_ < receiving_.size() || sent_ <= sending_.size() || !method_.is_complete()) return Progress::waiting;
    if (Status ended = method_.end(); !ended.ok()) return fail_with(std::move(ended));
  } catch (const std::bad_alloc&) {
    return fail_with(Code::memory);
  }
  return state_.progress = Progress::done;
}

Progress Rounds::fail_with(Status why) noexcept {
  failure_ = std::move(why);
  return state_.progress = Progress::failed;
}

bool Rounds::has_arrived(std::uint32_t edge) const noexcept {
  if (count_ == 0 || !takes_part(edge)) return false;
  const std::uint32_t port = port_of_[edge];
  return port == own_port || arrivals_[port] == Arrival::here;
}

std::vector<std::uint32_t> Rounds::awaited_ports() const {
  std::vector<std::uint32_t> ports;
  for (std::size_t place = sent_; place < sending_.size(); ++place) ports.push_back(sending_[place]);
  for (const std::uint32_t port : receiving_) {
    if (arrivals_[port] == Arrival::awaited) ports.push_back(port);
  }
  return ports;
}

// ---- messages ----

std::uint64_t Rounds::pack_route(const Route& route, std::byte* target) const noexcept {
  std::byte* place = target;
  if (!route.runs.empty()) {
    for (const Route::Run& run : route.runs) {
      std::memcpy(place, run.memory, run.bytes);
      place += run.bytes;
    }
    return route.max_bytes;
  }
  if (route.is_plain) {
    for (const std::uint32_t edge : route.edges) {
      pack(edges_[edge].regions, place, lengths_[edge]);
      place += lengths_[edge];
    }
    return static_cast<std::uint64_t>(place - target);
  }
  for (const std::uint32_t edge : route.edges) {
    if (!edges_[edge].is_variable || !takes_part(edge)) continue;
    wire::put_little(place, lengths_[edge]);
    place += wire::exchange_length_bytes;
  }
  for (const std::uint32_t edge : route.edges) {
    if (!takes_part(edge)) continue;
    pack(edges_[edge].regions, place, lengths_[edge]);
    place += lengths_[edge];
  }
  return static_cast<std::uint64_t>(place - target);
}

Status Rounds::unpack_route(const Route& route, std::span<const std::byte> message) {
  std::uint64_t expected = 0;
  std::size_t place = 0;
  if (!route.runs.empty() && message.size() == route.max_bytes) {
    for (const Route::Run& run : route.runs) {
      std::memcpy(run.memory, message.data() + place, run.bytes);
      place += run.bytes;
    }
    return {};
  }
  for (const std::uint32_t edge : route.edges) {
    if (!route.is_plain && !takes_part(edge)) continue;
    if (edges_[edge].is_variable) {
      if (message.size() - place < wire::exchange_length_bytes) {
        return fail(Code::protocol, "a message of {} bytes ends before the lengths at its head", message.size());
      }
      const auto length = wire::take_little<std::uint64_t>(message.data() + place);
      const std::uint64_t capacity = edges_[edge].bytes();
      if (length > capacity) {
        return fail(Code::protocol, "{} bytes arrive for an edge of at most {}", length, capacity);
      }
      lengths_[edge] = length;
      place += wire::exchange_length_bytes;
    }
    expected += lengths_[edge];
  }
  if (message.size() - place != expected) {
    return fail(Code::protocol, "a message of {} bytes arrives, not of {}", message.size(), place + expected);
  }
  for (const std::uint32_t edge : route.edges) {
    if (!route.is_plain && !takes_part(edge)) continue;
    unpack(edges_[edge].regions, message.data() + place, lengths_[edge]);
    place += lengths_[edge];
  }
  return {};
}

Status Rounds::take(std::uint32_t port) {
  const std::span<const std::byte> message = method_.incoming(port);
  Status taken = unpack_route(routes_.in[port], message);
  if (taken.ok()) {
    ++traffic_[port].received_messages;
    traffic_[port].received_bytes += message.size();
    return taken;
  }
  return taken.within(fmt::format("from rank {} by {}", routes_.ports[port].peer, method_.name()));
}

Status Rounds::copy_own() {
  const std::uint64_t bytes = pack_route(routes_.self_out, own_message_.get());
  return unpack_route(routes_.self_in, {own_message_.get(), bytes});
}

}  // namespace couplet::exchange
