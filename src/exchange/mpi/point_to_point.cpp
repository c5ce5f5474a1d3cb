#include "exchange/mpi/point_to_point.hpp"

#include <algorithm>

#include "exchange/mpi/call.hpp"

namespace couplet::exchange {
namespace {

constexpr std::uint64_t largest_piece = std::uint64_t{1} << 30;

}  // namespace

Result<std::vector<std::string>> PointToPoint::prepare() {
  COUPLET_TRY(out_.reserve(team(), Way::out));
  COUPLET_TRY(in_.reserve(team(), Way::in));
  for (std::uint32_t number = 0; number < port_count(); ++number) {
    receives_.push_back(add_pieces(number, Way::in, in_.payload(number)));
  }
  receive_count_ = pieces_.size();
  for (std::uint32_t number = 0; number < port_count(); ++number) {
    sends_.push_back(add_pieces(number, Way::out, out_.payload(number)));
  }
  const std::size_t send_count = pieces_.size() - receive_count_;
  requests_ = team().requests(pieces_.size() + send_count, Team::Calls::messages);
  missing_.assign(port_count(), 0);
  lengths_.assign(port_count(), 0);
  ended_.resize(requests_.size());
  statuses_.resize(requests_.size());
  return std::vector<std::string>();
}

PointToPoint::Range PointToPoint::add_pieces(std::uint32_t number, Way way, std::byte* memory) {
  Range range{pieces_.size(), 0};
  if (!is_used(port(number), way)) {
    return range;
  }
  std::uint64_t left = capacity(port(number), way);
  do {
    const std::uint64_t bytes = std::min(left, largest_piece);
    pieces_.push_back({memory, static_cast<int>(bytes), team().rank_of(number), number});
    memory += bytes;
    left -= bytes;
    ++range.count;
  } while (left > 0);
  return range;
}

Status PointToPoint::begin(std::span<const std::uint32_t> /*sending*/, std::span<const std::uint32_t> receiving) {
  COUPLET_TRY(team().check_open());
  tested_ = pieces_.size();
  std::size_t first = 0;
  std::size_t count = 0;
  for (const std::uint32_t number : receiving) {
    const Range& range = receives_[number];
    missing_[number] = range.count;
    lengths_[number] = 0;
    active_ += range.count;
    if (range.first != first + count) {  // ports that follow each other are started with one call
      COUPLET_TRY(start_receives(first, count));
      first = range.first;
      count = 0;
    }
    count += range.count;
  }
  return start_receives(first, count);
}

Status PointToPoint::send(std::uint32_t number, std::uint64_t bytes) {
  const Range& range = sends_[number];
  std::uint64_t left = bytes;
  for (std::size_t index = range.first; index < range.first + range.count; ++index) {
    const auto most = static_cast<std::uint64_t>(pieces_[index].bytes);
    const std::uint64_t piece = std::min(left, most);
    COUPLET_TRY(start_send(index, static_cast<int>(piece)));
    left -= piece;
  }
  active_ += range.count;
  return {};
}

Status PointToPoint::poll() {
  if (active_ == 0) {
    team().progress();
    return {};
  }
  int count = 0;
  const int code = MPI_Testsome(static_cast<int>(tested_), requests_.data(), &count, ended_.data(), statuses_.data());
  if (code == MPI_ERR_IN_STATUS) {
    for (int index = 0; index < count; ++index) {
      COUPLET_TRY(check_mpi(statuses_[static_cast<std::size_t>(index)].MPI_ERROR, "MPI_Testsome"));
    }
  }
  COUPLET_TRY(check_mpi(code, "MPI_Testsome"));
  for (int index = 0; index < count; ++index) {  // MPI_UNDEFINED is below 0
    COUPLET_TRY(take(ended_[static_cast<std::size_t>(index)], statuses_[static_cast<std::size_t>(index)]));
  }
  return {};
}

Status PointToPoint::take(int index, const MPI_Status& status) {
  --active_;
  if (static_cast<std::size_t>(index) >= receive_count_) {
    return {};
  }
  int bytes = 0;
  COUPLET_TRY(check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count"));
  const std::uint32_t number = pieces_[static_cast<std::size_t>(index)].port;
  lengths_[number] += static_cast<std::uint64_t>(bytes);
  --missing_[number];
  return {};
}

}  // namespace couplet::exchange
