#include "relay/served_file.hpp"

#include "series/slot_protocol.hpp"

namespace couplet::relay {

ServedFile::News ServedFile::news() const {
  const auto& control = file->control().published;
  News now;
  // It is read first: what is published then is all that there will be.
  now.closed = control.closed.load(std::memory_order_acquire) != 0;
  now.writer_gone = writer_gone;
  now.published = control.published.load(std::memory_order_acquire);
  return now;
}

std::uint64_t ServedFile::published() const {
  return file->control().published.published.load(std::memory_order_acquire);
}

std::uint64_t ServedFile::oldest() const {
  return series::oldest_retained(file->control().claimed.claimed.load(std::memory_order_acquire), file->slots());
}

bool ServedFile::ended() const {
  return file->control().published.closed.load(std::memory_order_acquire) != 0 || writer_gone;
}

}  // namespace couplet::relay
