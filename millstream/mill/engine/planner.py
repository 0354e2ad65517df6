"""The plans of an engine: logical ones, and physical ones as they would be carried out here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from millstream.catalog.address import Address
from millstream.catalog.catalog import Catalog
from millstream.catalog.definitions import Query, Stream
from millstream.catalog.select import Select
from millstream.catalog.settings import Settings
from millstream.connectors.places.facts import facts_of
from millstream.history.moments import Bound
from millstream.mill.engine.runtime import Runtime
from millstream.mill.stored.definitions import Definitions
from millstream.plan.algebra import Node
from millstream.plan.build import build
from millstream.plan.column_origins import fingerprints
from millstream.plan.fed_streams import with_feeds
from millstream.plan.keep_panes import keep_panes
from millstream.plan.passes import apply_passes
from millstream.plan.passes.inline_relations import inline_relations
from millstream.plan.physical import physical
from millstream.plan.physical.facts import Facts
from millstream.plan.whole_windows import answer_whole_windows


class Planner:
    """Makes plans in the catalog in force or in another one, for the Spark and the folders of an engine."""

    def __init__(self, definitions: Definitions, runtime: Runtime) -> None:
        self._definitions, self._home, self._runtime = definitions, definitions.home, runtime

    def plan(self, asked: Select | Query, catalog: Catalog | None = None) -> Node:
        """The plan of a SELECT or of a query."""
        return self._with_its_panes(asked, apply_passes(build(asked), catalog or self._definitions.catalog))

    def facts(self, asked: Select | Query, settings: Settings) -> Facts:
        """What physical plans depend on besides the query."""
        return replace(
            facts_of(self._runtime.place.base, settings.direct),
            tasks=self._runtime.tasks,
            set_buckets=settings.buckets,
            kept_buckets=self._home.kept_buckets(asked.name) if isinstance(asked, Query) else None,
        )

    def physical(self, asked: Select | Query, settings: Settings, catalog: Catalog | None = None) -> Node:
        """The physical plan of a SELECT or of a query."""
        return self.choose_physical(self.plan(asked, catalog), self.facts(asked, settings))

    def choose_physical(self, plan: Node, facts: Facts) -> Node:
        """A plan as it is carried out, by the facts."""
        return physical(self.with_feeds(plan), facts)

    def with_feeds(self, plan: Node) -> Node:
        """A plan whose streams without a source read what is put into them."""

        def place(stream: Stream) -> Address:
            return Address("fed", str(self._runtime.stored.feed(self._home.feed_folder(stream.name)).folder))

        return with_feeds(plan, place)

    def with_whole_windows(
        self, query: Query, plan: Node, starts: Mapping[str, Bound], since: Mapping[str, int] | None = None
    ) -> Node:
        """The plan without the answers of windows that had begun before the query did.

        `since` is when it did, of streams without a history.
        """
        begins = {stream: start.whole for stream, start in starts.items() if start.whole is not None}
        begins |= since or {}
        if not begins:
            return plan
        catalog = self._definitions.catalog
        whole = answer_whole_windows(inline_relations(build(query), catalog), begins)
        return keep_panes(apply_passes(whole, catalog), fingerprints(plan))

    def _with_its_panes(self, asked: Select | Query, plan: Node) -> Node:
        """The plan with the panes that a query has kept, if it runs by itself and can do with these."""
        if not isinstance(asked, Query) or not asked.name or self._home.host_of(asked.name) is not None:
            return plan
        record = self._home.record_of(asked.name)
        return plan if record is None else keep_panes(plan, record.steps or ())
