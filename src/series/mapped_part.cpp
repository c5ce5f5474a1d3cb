#include <algorithm>

#include "base/types.hpp"
#include "series/part.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::series {
namespace {

class MappedPart final : public Part {
 public:
  MappedPart(Environment& environment, std::unique_ptr<SeriesFile> file)
      : environment_(environment), file_(std::move(file)) {}

  [[nodiscard]] const char* route() const noexcept override { return "mapped"; }
  [[nodiscard]] SeriesFile& file() noexcept override { return *file_; }
  Status alive() override {
    const auto& geometry = file_->geometry();
    return environment_.alive(geometry.writer_peer, static_cast<std::uint16_t>(geometry.writer_incarnation));
  }

 private:
  Environment& environment_;
  std::unique_ptr<SeriesFile> file_;
};

}  // namespace

Status Part::sleep(Waiting& waiting, std::uint64_t target) {
  auto& control = file().control().published;
  if (const auto word = prepare_sleep(control, target)) {
    return waiting.sleep(control.word, *word);
  }
  return {};
}

Result<std::unique_ptr<Part>> open_mapped_part(Environment& environment, const universe::SeriesRecord& record,
                                               std::size_t part) {
  const auto& described = record.parts[part];
  const auto context = [&] { return fmt::format("series '{}', slots of writer rank {}", record.name, part); };
  if (described.file.empty() || described.file.find('/') != std::string::npos) {
    return fail(Code::protocol, "{}: '{}' is no file of the node directory", context(), described.file);
  }
  auto file = SeriesFile::open(environment.node_directory() + "/" + described.file);
  if (!file) {
    return file.status().within(context());
  }
  const auto& geometry = (*file)->geometry();
  if (geometry.name != record.name || geometry.fields.front().type != record.type || geometry.shape != record.shape ||
      geometry.slot_count != record.slots || (*file)->box() != described.box ||
      geometry.writer_peer != described.writer) {
    return fail(Code::protocol, "{}: {} is not the file that the register describes", context(), described.file);
  }
  return std::unique_ptr<Part>(new MappedPart(environment, std::move(file).value()));
}

}  // namespace couplet::series
