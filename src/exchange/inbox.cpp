#include "exchange/inbox.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "os/directory.hpp"
#include "os/host.hpp"
#include "wire/fields.hpp"

namespace couplet::exchange {
namespace {

constexpr std::uint64_t inbox_magic = 0x31584F424E495843U;  // "CXINBOX1"
// Neighbouring lines are fetched in pairs.
constexpr std::uint64_t place_bytes = 128;
constexpr std::size_t max_name_bytes = 255;
constexpr std::size_t max_build_bytes = 1024;
constexpr std::uint64_t max_file_bytes = std::uint64_t{1} << 46U;

// The first bytes of the file.
struct InboxHead {
  std::uint64_t magic = 0;
  std::array<std::uint64_t, 2> nonce{};
};
constexpr std::uint64_t sleeps_offset = place_bytes;
constexpr std::uint64_t places_offset = 2 * place_bytes;

std::uint64_t rounded(std::uint64_t bytes) noexcept {
  return (bytes + place_bytes - 1) / place_bytes * place_bytes;
}

// Returns the bytes of the file; more than max_file_bytes if it would be too large.
std::uint64_t arrange(std::span<const Port> ports, std::vector<InboxPlace>& places) {
  std::uint64_t offset = places_offset;
  places.clear();
  for (const Port& port : ports) {
    InboxPlace place;
    place.message_bytes = port.in_bytes;
    place.consumed_offset = offset;
    offset += place_bytes;
    place.halves_offset = offset;
    const std::uint64_t data_bytes = port.in_bytes <= max_line_bytes ? 0 : rounded(port.in_bytes);
    place.half_bytes = place_bytes + data_bytes;
    if (port.receives) offset = std::min(offset + 2 * place.half_bytes, max_file_bytes + 1);  // must not overflow
    places.push_back(place);
  }
  return offset;
}

}  // namespace

Result<std::unique_ptr<Inbox>> Inbox::create(const Setting& setting, std::vector<InboxPlace>& places) {
  const std::uint64_t bytes = arrange(setting.ports, places);
  if (setting.run_directory.empty()) {
    return fail(Code::unsupported, "rank {} has no node directory, in which its inbox would be", setting.rank);
  }
  if (bytes > max_file_bytes) {
    return fail(Code::unsupported, "the messages to rank {} need more than {} bytes, the most that an inbox may have",
                setting.rank, max_file_bytes);
  }
  InboxHead head{.magic = inbox_magic};
  for (std::uint64_t& number : head.nonce) {
    COUPLET_TRY_VALUE(number, os::random_bits());
  }
  COUPLET_TRY_VALUE(auto file, os::MappedFile::create(os::temporary_name(setting.run_directory, "exchange"), bytes));
  std::memcpy(file->data(), &head, sizeof head);
  return std::unique_ptr<Inbox>(new Inbox(std::move(file), head.nonce));
}

Result<std::unique_ptr<Inbox>> Inbox::open(const std::string& run_directory, const Invitation& invitation) {
  if (invitation.file.empty() || invitation.file.find('/') != std::string::npos) {
    return fail(Code::unsupported, "'{}' is not the name of a file", invitation.file);
  }
  auto file = os::MappedFile::open(run_directory + "/" + invitation.file, os::Access::read_write);
  if (!file.ok()) {
    return fail(Code::unsupported, "its file cannot be opened: {}", file.status().text());
  }
  InboxHead head;
  if ((*file)->size() == invitation.file_bytes) std::memcpy(&head, (*file)->data(), sizeof head);
  if (head.magic != inbox_magic || head.nonce != invitation.nonce) {
    return fail(Code::unsupported, "{} is another file here", invitation.file);
  }
  return std::unique_ptr<Inbox>(new Inbox(std::move(*file), invitation.nonce));
}

Invitation Inbox::invitation(const Port& /*port*/, const InboxPlace& place) const {
  return {.build = std::string(methods_build),
          .file = file_->path().substr(file_->path().rfind('/') + 1),
          .file_bytes = file_->size(),
          .nonce = nonce_,
          .place = place};
}

std::atomic<std::uint32_t>& Inbox::sleeps() const noexcept {
  return *reinterpret_cast<std::atomic<std::uint32_t>*>(file_->data() + sleeps_offset);
}

std::atomic<std::uint64_t>& Inbox::consumed(const InboxPlace& place) const noexcept {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(file_->data() + place.consumed_offset);
}

std::array<Half, 2> Inbox::halves(const InboxPlace& place) const noexcept {
  std::array<Half, 2> both;
  for (std::size_t index = 0; index < both.size(); ++index) {
    std::byte* const first = file_->data() + place.halves_offset + index * place.half_bytes;
    both[index].line = reinterpret_cast<HalfLine*>(first);
    both[index].data = place.message_bytes <= max_line_bytes ? both[index].line->data : first + place_bytes;
  }
  return both;
}

Status Invitation::fits(const Port& port) const {
  if (build != methods_build) {
    return fail(Code::version, "the peer's library is build '{}', and this one is '{}'", build, methods_build);
  }
  const std::uint64_t data_bytes = place.message_bytes <= max_line_bytes ? 0 : rounded(place.message_bytes);
  const std::uint64_t halves_bytes = port.sends ? 2 * (place_bytes + data_bytes) : 0;
  const auto is_aligned = [](std::uint64_t offset) { return offset % place_bytes == 0 && offset >= places_offset; };
  if (file_bytes > max_file_bytes || place.message_bytes > max_file_bytes || place.message_bytes != port.out_bytes ||
      place.half_bytes != place_bytes + data_bytes || !is_aligned(place.consumed_offset) ||
      !is_aligned(place.halves_offset) || place.consumed_offset > file_bytes - place_bytes ||
      place.halves_offset > file_bytes || halves_bytes > file_bytes - place.halves_offset) {
    return fail(Code::mismatch, "its places are for messages of {} bytes, not of {}", place.message_bytes,
                port.out_bytes);
  }
  return {};
}

std::string encode_invitation(const Invitation& invitation) {
  wire::FieldWriter writer;
  writer.put_text(invitation.build);
  writer.put_text(invitation.file);
  writer.put(invitation.file_bytes);
  for (const std::uint64_t number : invitation.nonce) writer.put(number);
  writer.put(invitation.place.consumed_offset);
  writer.put(invitation.place.halves_offset);
  writer.put(invitation.place.half_bytes);
  writer.put(invitation.place.message_bytes);
  return writer.take();
}

Result<Invitation> decode_invitation(std::string_view text) {
  if (text.empty()) return fail(Code::unsupported, "it has no memory to share");
  wire::FieldReader reader(text, "an invitation to an inbox");
  Invitation invitation;
  invitation.build = reader.take_text("build", max_build_bytes);
  invitation.file = reader.take_text("name of the file", max_name_bytes);
  invitation.file_bytes = reader.take<std::uint64_t>("bytes of the file", places_offset);
  for (std::uint64_t& number : invitation.nonce) number = reader.take<std::uint64_t>("nonce");
  invitation.place.consumed_offset = reader.take<std::uint64_t>("place of the number consumed");
  invitation.place.halves_offset = reader.take<std::uint64_t>("place of the halves");
  invitation.place.half_bytes = reader.take<std::uint64_t>("bytes of a half");
  invitation.place.message_bytes = reader.take<std::uint64_t>("bytes of a message");
  COUPLET_TRY(reader.finish());
  return invitation;
}

}  // namespace couplet::exchange
