#include "flow.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace bloodflow {

std::uint64_t digest_of(const Values& values) {
  std::uint64_t sum = 0;
  for (std::size_t number = 0; number < values.sites.size(); ++number) {
    auto hash = static_cast<std::uint64_t>(values.sites[number]);
    for (int i = 0; i < directions; ++i) {
      hash = (hash ^ std::bit_cast<std::uint64_t>(values.of(number)[i])) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 29U;
    }
    sum += hash;
  }
  return sum;
}

Kernel::Kernel(Flow& flow, Values& values, Transfer transfer, Stopwatch& compute)
    : flow_(flow),
      values_(values),
      transfer_(std::move(transfer)),
      stopwatch_(compute),
      boxes_(transfer_.peers.size()),
      next_(transfer_.owned_sites.size() * directions) {
  for (std::size_t peer = 0; peer < boxes_.size(); ++peer) {
    boxes_[peer].sent.resize(transfer_.peers[peer].sent.size());
    boxes_[peer].received.resize(transfer_.peers[peer].received.size());
  }
}

void Kernel::register_with(couplet::StepManager& manager, const std::string& name) {
  client_ = manager.add(name, *this);
  for (std::size_t place = 0; place < boxes_.size(); ++place) {
    Box& box = boxes_[place];
    const couplet::RequestTerms terms = {.peer = transfer_.peers[place].rank, .title = "distributions"};
    const auto sent = static_cast<std::int64_t>(box.sent.size());
    const auto received = static_cast<std::int64_t>(box.received.size());
    if (sent > 0) manager.send(client_, terms, box.sent.data(), {{sent}, {0}, {sent}});
    if (received > 0) manager.receive(client_, terms, box.received.data(), {{received}, {0}, {received}});
  }
}

void Kernel::fill(const couplet::Moment& /*moment*/) {
  const Stopwatch::Lap lap(stopwatch_);
  for (std::size_t place = 0; place < boxes_.size(); ++place) {
    const std::vector<Place>& from = transfer_.peers[place].sent;
    for (std::size_t n = 0; n < from.size(); ++n) boxes_[place].sent[n] = values_.f[from[n]];
  }
}

void Kernel::overlap(const couplet::Moment& /*moment*/) {
  const Stopwatch::Lap lap(stopwatch_);
  compute(transfer_.step.inner);
}

void Kernel::use(const couplet::Moment& /*moment*/) {
  const Stopwatch::Lap lap(stopwatch_);
  values_.f.resize(transfer_.held_sites.size() * directions + transfer_.arriving);
  for (std::size_t place = 0; place < boxes_.size(); ++place) {
    const std::vector<Place>& to = transfer_.peers[place].received;
    for (std::size_t n = 0; n < to.size(); ++n) values_.f[to[n]] = boxes_[place].received[n];
  }
  compute(transfer_.step.outer);
  std::swap(values_.f, next_);
  values_.sites = transfer_.owned_sites;
  flow_.advance();
}

void Kernel::compute(const std::vector<std::int32_t>& numbers) {
  double f[directions];
  for (const std::int32_t number : numbers) {
    const Place* const sources = transfer_.step.sources.data() + static_cast<std::size_t>(number) * directions;
    for (int i = 0; i < directions; ++i) f[i] = values_.f[sources[i]];
    correct(number, f);
    collide(f, next_.data() + static_cast<std::size_t>(number) * directions, flow_.rates);
  }
}

void Kernel::correct(std::size_t number, double* f) const {
  const Step& step = transfer_.step;
  for (std::int32_t n = step.first_correction[number]; n < step.first_correction[number + 1]; ++n) {
    const Correction& one = step.corrections[n];
    double& value = f[one.direction];
    if (one.kind == Link::Kind::wall) {
      const double turned = one.own_share * value + one.other_share * values_.f[one.other];
      // The difference to what has left the site stays at it, so that no mass goes through the wall.
      f[0] += value - turned;
      value = turned;
    } else if (one.kind == Link::Kind::inlet) {
      value += one.inflow * flow_.inflow;
    } else {  // the density outside is 1
      double own[directions];
      for (int i = 0; i < directions; ++i) own[i] = values_.f[step.extras[one.other + i]];
      const Vector u = moments(own).velocity;
      const double along = 3 * dot(velocities[one.direction], u);
      value = 2 * weight(one.direction) * (1 + 0.5 * along * along - 1.5 * dot(u, u)) - value;
    }
  }
}

}  // namespace bloodflow
