#include "network.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace world {
namespace {

constexpr std::size_t window_bytes = std::size_t{128} << 10;  // bytes that a peer takes which reads nothing
constexpr Nanoseconds retry_ns = second;                      // when the first packet of a connection is sent again
constexpr Nanoseconds look_ns = second / 4;                   // how often connections over a cut cable are checked

}  // namespace

Network& network() {
  static Network one;
  return one;
}

// ---- the cables -----------------------------------------------------------------------------------------------------

bool Network::is_cut(int one, int other) const {
  return one != other && cuts_.count(cable(one, other)) != 0;
}

Nanoseconds Network::cut_since(int one, int other) const {
  const auto found = cuts_.find(cable(one, other));
  return found == cuts_.end() ? never : found->second;
}

Nanoseconds Network::latency(int from, int to) const {
  auto& random = kernel->random();
  if (from == to) {
    return random.between(4'000, 20'000);
  }
  return random.between(30'000, 150'000) + (random.chance(0.02) ? random.below(20'000'000) : 0);
}

template <typename Visit>
void Network::for_each_across(int one, int other, const Visit& visit) {
  std::erase_if(streams_, [](const auto& stream) { return stream.expired(); });
  const auto streams = streams_;
  for (const auto& weak : streams) {
    const auto stream = weak.lock();
    if (stream && stream->established() && one != other &&
        cable(stream->own.node, stream->other.node) == cable(one, other)) {
      visit(*stream);
    }
  }
}

void Network::cut(int one, int other) {
  if (one == other || is_cut(one, other)) {
    return;
  }
  cuts_[cable(one, other)] = kernel->now();
  for_each_across(one, other, [](Stream& stream) {
    for (auto& segment : stream.incoming_) {
      segment.at = segment.at > kernel->now() ? never : segment.at;
    }
  });
  kernel->at(kernel->now() + look_ns, [this, one, other] { look_for_timeouts(one, other); });
}

void Network::heal(int one, int other) {
  if (cuts_.erase(cable(one, other)) == 0) {
    return;
  }
  for_each_across(one, other, [&](Stream& stream) {
    Nanoseconds at = kernel->now() + latency(one, other) + kernel->random().below(second / 2);
    for (auto& segment : stream.incoming_) {
      segment.at = segment.at == never ? at++ : segment.at;
    }
    kernel->wake_at(at);
  });
}

void Network::reset(int one, int other) {
  for_each_across(one, other, [](Stream& stream) {
    stream.abort(stream.own.node < stream.other.node ? ECONNABORTED : ECONNRESET);
  });
}

// Gives up connections over a cut cable when the time that their options allow has passed.
void Network::look_for_timeouts(int one, int other) {
  const Nanoseconds since = cut_since(one, other);
  if (since == never) {
    return;
  }
  for_each_across(one, other, [&](Stream& stream) {
    const Nanoseconds waiting = stream.silent_since();
    const bool unread =
        waiting != 0 && stream.options.user_timeout_ns != 0 && kernel->now() - waiting > stream.options.user_timeout_ns;
    const bool idle = waiting == 0 && stream.options.keepalive && kernel->now() - since > stream.options.keepalive_ns;
    if (unread || idle) {
      stream.abort(ETIMEDOUT);
    }
  });
  kernel->at(kernel->now() + look_ns, [this, one, other] { look_for_timeouts(one, other); });
}

std::shared_ptr<Stream> Network::listener(Place place) const {
  const auto found = listeners_.find(place);
  const auto stream = found == listeners_.end() ? nullptr : found->second.lock();
  return stream && !stream->gone_ ? stream : nullptr;
}

void Network::try_connect(const std::shared_ptr<Stream>& caller) {
  if (caller->gone_ || caller->state != Stream::State::connecting) {
    return;
  }
  const auto later = [this, weak = std::weak_ptr(caller)] {
    if (const auto stream = weak.lock()) {
      try_connect(stream);
    }
  };
  if (is_cut(caller->own.node, caller->other.node)) {
    kernel->at(kernel->now() + retry_ns, later);
    return;
  }
  const auto target = listener(caller->other);
  if (walls_.contains({caller->own.node, caller->other.node})) {
    caller->abort(EHOSTUNREACH);
  } else if (!target) {
    caller->abort(ECONNREFUSED);
  } else if (target->callers_.size() >= target->backlog_) {
    kernel->at(kernel->now() + retry_ns, later);
  } else {
    target->arrived_syn(caller);
  }
}

// ---- a stream -------------------------------------------------------------------------------------------------------

bool Stream::reset_arrived() const {
  return !incoming_.empty() && incoming_.back().kind == Kind::reset && incoming_.back().at <= kernel->now();
}

bool Stream::held() const {
  return network().is_cut(own.node, other.node);
}

unsigned Stream::readiness() const {
  if (state == State::listening) {
    return callers_.empty() ? 0U : POLLIN;
  }
  if (error_ != 0) {
    return POLLIN | POLLOUT | POLLERR | POLLHUP;
  }
  if (state != State::connected) {
    return state == State::fresh ? POLLOUT | POLLHUP : 0;
  }
  unsigned bits = 0;
  if (!incoming_.empty() && incoming_.front().at <= kernel->now()) {
    bits |= POLLIN;
  }
  if (peer_.expired() || plain_peer_->gone_ || plain_peer_->incoming_bytes_ < window_bytes) {
    bits |= POLLOUT;
  }
  return reset_arrived() ? bits | POLLIN | POLLOUT | POLLERR | POLLHUP : bits;
}

int Stream::connect(Place target) {
  if (state == State::connected) {
    errno = EISCONN;
    return -1;
  }
  if (own.port == 0) {
    own.port = network().free_port();
  }
  other = target;
  state = State::connecting;
  const Nanoseconds at = kernel->now() + network().latency(own.node, other.node);
  kernel->at(at, [caller = weak_from_this()] {
    if (const auto stream = caller.lock()) {
      network().try_connect(stream);
    }
  });
  if (options.user_timeout_ns != 0) {
    kernel->at(kernel->now() + options.user_timeout_ns, [caller = weak_from_this()] {
      if (const auto stream = caller.lock(); stream && stream->state == State::connecting) {
        stream->abort(ETIMEDOUT);
      }
    });
  }
  errno = EINPROGRESS;
  return -1;
}

void Stream::arrived_syn(const std::shared_ptr<Stream>& caller) {
  auto accepted = std::make_shared<Stream>(own.node);
  network().add(accepted);
  accepted->state = State::connected;
  accepted->own = own;
  accepted->other = caller->own;
  accepted->peer_ = caller;
  accepted->plain_peer_ = caller.get();
  accepted->heard_ns_ = kernel->now();
  caller->peer_ = accepted;
  caller->plain_peer_ = accepted.get();
  caller->heard_ns_ = kernel->now();
  caller->state = State::connected;  // what the caller sends now arrives later than this
  callers_.push_back(std::move(accepted));
}

int Stream::listen(int backlog) {
  state = State::listening;
  backlog_ = static_cast<std::size_t>(std::max(backlog, 1));
  network().set_listener(own, shared_from_this());
  return 0;
}

std::shared_ptr<Stream> Stream::accept() {
  if (callers_.empty()) {
    errno = EAGAIN;
    return nullptr;
  }
  auto first = std::move(callers_.front());
  callers_.pop_front();
  return first;
}

// Sends something of this stream to the other side.
void Stream::push_to(Stream& target, Kind kind, std::string bytes) {
  Nanoseconds at = never;
  if (!held()) {
    at = kernel->now() + network().latency(own.node, other.node);
    if (!target.incoming_.empty()) {
      // Segments stay in order, so one that is held also holds those after it.
      at = std::max(at, target.incoming_.back().at);
    }
  }
  target.incoming_bytes_ += bytes.size();
  target.incoming_.push_back({at, kind, std::move(bytes), kernel->now()});
  if (at != never) {
    kernel->wake_at(at);
  }
}

// The other side no longer has this connection, and answers with a reset.
void Stream::answer_reset() {
  if (!held() && (incoming_.empty() || incoming_.back().kind != Kind::reset)) {
    const Nanoseconds at = kernel->now() + 2 * network().latency(own.node, other.node);
    incoming_.push_back({at, Kind::reset, {}, kernel->now()});
    kernel->wake_at(at);
  }
}

ssize_t Stream::send(const void* data, std::size_t bytes) {
  if (error_ != 0 || reset_arrived()) {
    errno = error_ != 0 ? take_error() : ECONNRESET;
    return -1;
  }
  if (state != State::connected || shut_) {
    errno = state == State::connected ? EPIPE : ENOTCONN;
    return -1;
  }
  const auto peer = peer_.lock();
  if (!peer || peer->gone_) {
    answer_reset();
    return static_cast<ssize_t>(bytes);
  }
  const std::size_t room = window_bytes - std::min(window_bytes, peer->incoming_bytes_);
  std::size_t part = std::min(bytes, room);
  if (part == 0) {
    errno = EAGAIN;
    return -1;
  }
  if (part > 1 && kernel->random().chance(0.02)) {
    part = 1 + kernel->random().below(part - 1);
  }
  push_to(*peer, Kind::data, std::string(static_cast<const char*>(data), part));
  return static_cast<ssize_t>(part);
}

ssize_t Stream::receive(void* data, std::size_t bytes) {
  if (state != State::connected && error_ == 0) {
    errno = ENOTCONN;
    return -1;
  }
  std::size_t done = 0;
  while (done < bytes && !incoming_.empty() && incoming_.front().at <= kernel->now()) {
    Segment& first = incoming_.front();
    if (first.kind == Kind::end) {
      break;
    }
    if (first.kind == Kind::reset) {
      if (done == 0) {
        abort(ECONNRESET);
      }
      break;
    }
    const std::size_t part = std::min(bytes - done, first.bytes.size() - taken_);
    std::memcpy(static_cast<char*>(data) + done, first.bytes.data() + taken_, part);
    done += part;
    taken_ += part;
    incoming_bytes_ -= part;
    heard_ns_ = kernel->now();
    if (taken_ == first.bytes.size()) {
      incoming_.pop_front();
      taken_ = 0;
    }
  }
  if (done != 0) {
    return static_cast<ssize_t>(done);
  }
  if (reset_arrived()) {  // what is still under way before it never arrives
    abort(ECONNRESET);
  }
  if (error_ != 0) {
    errno = take_error();
    return -1;
  }
  if (!incoming_.empty() && incoming_.front().at <= kernel->now()) {
    return 0;  // the end of the stream
  }
  errno = EAGAIN;
  return -1;
}

void Stream::shut_write() {
  const auto peer = peer_.lock();
  if (peer && !shut_ && !gone_ && !peer->gone_) {
    push_to(*peer, Kind::end, {});
  }
  shut_ = true;
}

int Stream::take_error() {
  const int error = error_;
  if (error == 0) {
    return 0;
  }
  if (state == State::connected) {
    incoming_.clear();
    incoming_.push_back({0, Kind::end, {}, 0});  // after the error, reads return the end of the stream
    shut_ = true;
  } else {
    state = State::fresh;
  }
  error_ = 0;
  return error;
}

// Ends this side with an error. The other side learns of it when it sends the next time.
void Stream::abort(int why) {
  if (!gone_) {
    error_ = why;
    gone_ = true;
    kernel->wake_at(kernel->now());
    answer_probe(peer_);
  }
}

// Answers a keepalive probe, by which the other side finds out about a connection over which nothing is sent.
void Stream::answer_probe(const std::weak_ptr<Stream>& other_side) {
  kernel->at(kernel->now() + 2 * second, [other_side] {
    const auto peer = other_side.lock();
    if (!peer || peer->gone_ || !peer->options.keepalive) {
      return;
    }
    if (peer->held()) {
      answer_probe(other_side);
    } else {
      peer->answer_reset();
    }
  });
}

std::size_t Stream::unanswered() const {
  const auto peer = peer_.lock();
  return peer && !peer->gone_ ? peer->incoming_bytes_ : 0;
}

Nanoseconds Stream::silent_since() const {
  const auto peer = peer_.lock();
  if (!peer || peer->incoming_.empty() || peer->incoming_.back().at != never) {
    return 0;
  }
  const auto first = std::find_if(peer->incoming_.begin(), peer->incoming_.end(),
                                  [](const Segment& segment) { return segment.at == never; });
  return std::max(first->sent_ns, network().cut_since(own.node, other.node));
}

void Stream::closed() {
  if (state == State::listening) {
    for (const auto& caller : callers_) {
      caller->closed();
    }
    callers_.clear();
  }
  const auto peer = peer_.lock();
  const bool unread =
      !incoming_.empty() && incoming_.front().kind == Kind::data && incoming_.front().at <= kernel->now();
  if (peer && !gone_ && !peer->gone_) {
    const bool resets = unread || options.aborts_on_close;
    if (!resets && !shut_) {
      push_to(*peer, Kind::end, {});
    } else if (resets && !held()) {
      push_to(*peer, Kind::reset, {});
    } else if (resets) {
      answer_probe(peer_);
    }
  }
  gone_ = true;
}

unsigned DatagramSocket::readiness() const {
  return (waiting.empty() ? 0U : POLLIN) | POLLOUT;
}

}  // namespace world
