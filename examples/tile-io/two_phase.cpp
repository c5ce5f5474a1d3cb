#include "two_phase.hpp"

#include <algorithm>
#include <utility>

namespace tile_io {
namespace {

constexpr int tag = 1;

std::int64_t count_of(const std::vector<Run>& runs) {
  std::int64_t count = 0;
  for (const Run& run : runs) {
    count += run.count;
  }
  return count;
}

}  // namespace

TwoPhase::TwoPhase(MPI_Comm comm, const Tiles& tiles, const std::vector<int>& node_set, std::int64_t buffer_count,
                   PostingOrder order)
    : comm_(comm), tiles_(tiles), buffer_count_(buffer_count), order_(order) {
  MPI_Comm_rank(comm_, &rank_);
  for (std::size_t node = 0; node < node_set.size(); ++node) {
    aggregators_.push_back(static_cast<int>(node_of_rank_.size()));
    node_of_rank_.insert(node_of_rank_.end(), static_cast<std::size_t>(node_set[node]), static_cast<int>(node));
  }
  for (std::size_t node = 0; node < node_set.size(); ++node) {
    const std::int64_t count = file_domain(tiles_, static_cast<int>(node), static_cast<int>(node_set.size())).count();
    iteration_count_ = std::max(iteration_count_, static_cast<int>((count + buffer_count_ - 1) / buffer_count_));
  }
  if (is_aggregator()) {
    buffer_.resize(static_cast<std::size_t>(part(0).count()));
  }
}

Range TwoPhase::part_of(int node, int iteration) const noexcept {
  const Range domain = file_domain(tiles_, node, static_cast<int>(aggregators_.size()));
  const std::int64_t start = std::min(domain.start + iteration * buffer_count_, domain.stop);
  return {start, std::min(start + buffer_count_, domain.stop)};
}

void TwoPhase::add(std::vector<Message>& messages, int peer, std::vector<Run> runs) {
  if (runs.empty()) {
    return;
  }
  const std::int64_t start = messages.empty() ? 0 : messages.back().start + messages.back().count;
  const std::int64_t count = count_of(runs);
  messages.push_back({peer, std::move(runs), start, count});
}

// The messages of the own node first, or last; the memory of each stays where it is.
void TwoPhase::sort(std::vector<Message>& messages) const {
  const auto is_inside = [this](const Message& message) {
    return node_of_rank_[static_cast<std::size_t>(message.peer)] == node();
  };
  std::vector<Message> sorted;
  for (const bool wanted : {true, false}) {
    for (Message& message : messages) {
      if (is_inside(message) == wanted) {
        sorted.push_back(std::move(message));
      }
    }
  }
  messages = std::move(sorted);
  if (order_ == PostingOrder::inter_first) {
    std::reverse(messages.begin(), messages.end());
  }
}

void TwoPhase::plan(int iteration) {
  of_tile_.clear();
  of_buffer_.clear();
  for (int node = 0; node < static_cast<int>(aggregators_.size()); ++node) {
    const Range part = part_of(node, iteration);
    const int aggregator = aggregators_[static_cast<std::size_t>(node)];
    add(of_tile_, aggregator, tiles_.overlap(rank_, part));
    for (int peer = 0; aggregator == rank_ && peer < tiles_.rank_count(); ++peer) {
      add(of_buffer_, peer, tiles_.overlap(peer, part));
    }
  }
  const auto resize = [](std::vector<Element>& elements, const std::vector<Message>& messages) {
    const std::int64_t count = messages.empty() ? 0 : messages.back().start + messages.back().count;
    elements.resize(static_cast<std::size_t>(count));
  };
  resize(tile_elements_, of_tile_);
  resize(buffer_elements_, of_buffer_);
  sort(of_tile_);
  sort(of_buffer_);
}

double TwoPhase::collect(int iteration, std::span<const Element> tile) {
  plan(iteration);
  for (const Message& message : of_tile_) {
    Element* place = tile_elements_.data() + message.start;
    for (const Run& run : message.runs) {
      place = std::copy_n(tile.data() + run.in_tile, run.count, place);
    }
  }
  const double seconds = exchange(of_buffer_, buffer_elements_, of_tile_, tile_elements_);
  count(of_buffer_, of_tile_);
  for (const Message& message : of_buffer_) {
    const Element* place = buffer_elements_.data() + message.start;
    for (const Run& run : message.runs) {
      std::copy_n(place, run.count, buffer_.data() + run.in_file - part(iteration).start);
      place += run.count;
    }
  }
  return seconds;
}

double TwoPhase::distribute(int iteration, std::span<Element> tile) {
  plan(iteration);
  for (const Message& message : of_buffer_) {
    Element* place = buffer_elements_.data() + message.start;
    for (const Run& run : message.runs) {
      place = std::copy_n(buffer_.data() + run.in_file - part(iteration).start, run.count, place);
    }
  }
  const double seconds = exchange(of_tile_, tile_elements_, of_buffer_, buffer_elements_);
  count(of_tile_, of_buffer_);
  for (const Message& message : of_tile_) {
    const Element* place = tile_elements_.data() + message.start;
    for (const Run& run : message.runs) {
      std::copy_n(place, run.count, tile.data() + run.in_tile);
      place += run.count;
    }
  }
  return seconds;
}

// All receives, then all sends, then one wait, as couplet-probe measures it.
double TwoPhase::exchange(const std::vector<Message>& incoming, std::vector<Element>& into,
                          const std::vector<Message>& outgoing, const std::vector<Element>& from) {
  std::vector<MPI_Request> requests;
  requests.reserve(incoming.size() + outgoing.size());
  MPI_Barrier(comm_);
  const double start = MPI_Wtime();
  for (const Message& message : incoming) {
    MPI_Irecv(into.data() + message.start, static_cast<int>(message.count), MPI_DOUBLE, message.peer, tag, comm_,
              &requests.emplace_back());
  }
  for (const Message& message : outgoing) {
    MPI_Isend(from.data() + message.start, static_cast<int>(message.count), MPI_DOUBLE, message.peer, tag, comm_,
              &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return MPI_Wtime() - start;
}

void TwoPhase::count(const std::vector<Message>& incoming, const std::vector<Message>& outgoing) {
  const auto is_inside = [this](int peer) { return node_of_rank_[static_cast<std::size_t>(peer)] == node(); };
  for (const Message& message : outgoing) {
    ++counts_.messages;
    (is_inside(message.peer) ? counts_.inside : counts_.sent_outside).insert(message.peer);
  }
  for (const Message& message : incoming) {
    if (!is_inside(message.peer)) {
      counts_.received_from_outside.insert(message.peer);
    }
  }
}

Counts TwoPhase::take_counts() {
  return std::exchange(counts_, Counts());
}

}  // namespace tile_io
