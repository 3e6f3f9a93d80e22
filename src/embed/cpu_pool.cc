#include "embed/cpu_pool.h"

#include <utility>

namespace hearth {

CpuPool::CpuPool(std::string name, const Load& load, const EmbedOptions& options)
    : EngineDevice(std::move(name), [&] {
        std::unique_ptr<Engine> engine = load();
        auto embedder = std::make_unique<Embedder>(*engine, options);
        return Made{std::move(engine), std::move(embedder)};
      }) {}

}  // namespace hearth
