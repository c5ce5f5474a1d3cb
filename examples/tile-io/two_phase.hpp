// The exchange of two-phase collective I/O in point-to-point messages. Ranks fill the nodes of a node set in order. The
// first rank of each node is its aggregator: it has one file domain, which it works off in iterations of at most the
// collective buffer. In each iteration, a rank exchanges one message with each aggregator in whose part of the file it
// has elements, also if that is itself.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "tiles.hpp"

namespace tile_io {

enum class PostingOrder { intra_first, inter_first };

// What a rank has sent and received in an exchange; messages to itself are sent inside its node.
struct Counts {
  std::int64_t messages = 0;            // sent in all iterations
  std::set<int> inside;                 // ranks of its node that it has sent to
  std::set<int> sent_outside;           // ranks of other nodes that it has sent to
  std::set<int> received_from_outside;  // ranks of other nodes that it has received from
};

class TwoPhase {
 public:
  // Collective over `comm`. REQUIRES: the node set holds as many ranks as there are tiles and ranks in `comm`.
  TwoPhase(MPI_Comm comm, const Tiles& tiles, const std::vector<int>& node_set, std::int64_t buffer_count,
           PostingOrder order);

  [[nodiscard]] int node() const noexcept { return node_of_rank_[static_cast<std::size_t>(rank_)]; }
  [[nodiscard]] int iteration_count() const noexcept { return iteration_count_; }
  // The part of the file that this rank's buffer has in an iteration; empty if it is no aggregator.
  [[nodiscard]] Range part(int iteration) const noexcept {
    return is_aggregator() ? part_of(node(), iteration) : Range();
  }
  [[nodiscard]] std::span<Element> buffer() noexcept { return buffer_; }

  // Collective. Moves the tiles into the buffers of the aggregators (before they write), or the buffers into the tiles
  // (after they have read). Returns the seconds from the first post until this rank's messages are complete.
  double collect(int iteration, std::span<const Element> tile);
  double distribute(int iteration, std::span<Element> tile);

  // What was sent and received since the last call.
  Counts take_counts();

 private:
  // A message between this rank and another one, and the part of the tile of the rank that is no aggregator here.
  struct Message {
    int peer = 0;
    std::vector<Run> runs;
    std::int64_t start = 0;  // in the packed elements
    std::int64_t count = 0;
  };
  // The part of the file that the aggregator of a node has in an iteration.
  [[nodiscard]] Range part_of(int node, int iteration) const noexcept;
  [[nodiscard]] bool is_aggregator() const noexcept { return aggregators_[static_cast<std::size_t>(node())] == rank_; }
  void plan(int iteration);
  void add(std::vector<Message>& messages, int peer, std::vector<Run> runs);
  void sort(std::vector<Message>& messages) const;
  double exchange(const std::vector<Message>& incoming, std::vector<Element>& into,
                  const std::vector<Message>& outgoing, const std::vector<Element>& from);
  void count(const std::vector<Message>& incoming, const std::vector<Message>& outgoing);

  MPI_Comm comm_;
  Tiles tiles_;
  std::int64_t buffer_count_;
  PostingOrder order_;
  int rank_ = 0;
  int iteration_count_ = 1;
  std::vector<int> node_of_rank_;
  std::vector<int> aggregators_;  // by node
  std::vector<Element> buffer_;
  // Of the iteration that was planned last: with the aggregators, and of this rank as an aggregator.
  std::vector<Message> of_tile_;
  std::vector<Message> of_buffer_;
  std::vector<Element> tile_elements_;
  std::vector<Element> buffer_elements_;
  Counts counts_;
};

}  // namespace tile_io
