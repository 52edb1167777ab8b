//! The index of words: which passages hold which terms, in memory. What a passage is, its tool says:
//! a piece of a document, an article of a contract.
//!
//! One segment, built on one thread in the order of the passages: the same passages give the same
//! scores on every machine, and equal scores fall back to that order.

mod terms;

use tantivy::collector::TopDocs;
use tantivy::directory::RamDirectory;
use tantivy::query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, IndexReader, ReloadPolicy, TantivyDocument, TantivyError, Term};

use terms::{Terms, query_terms};

/// A word in a heading counts this many times one in the text.
const HEADING_BOOST: f32 = 2.0;
/// Most terms of one query.
const MAX_QUERY_TERMS: usize = 64;
/// Where the index starts to grow from, in bytes.
const MEMORY: usize = 16 << 20;
const TERMS: &str = "terms";

/// One passage as it is indexed.
pub(super) struct Entry<'a> {
    /// What stands above it: headings, a file's name.
    pub heading: String,
    pub body: &'a str,
}

/// An index over passages; it knows them by their place in the list.
pub(super) struct PassageIndex {
    reader: IndexReader,
    body: Field,
    heading: Field,
    len: usize,
}

impl PassageIndex {
    /// Indexes the passages.
    pub(super) fn of<'a>(passages: impl IntoIterator<Item = Entry<'a>>) -> Result<Self, TantivyError> {
        let mut schema = Schema::builder();
        let indexing =
            TextFieldIndexing::default().set_tokenizer(TERMS).set_index_option(IndexRecordOption::WithFreqs);
        let options = TextOptions::default().set_indexing_options(indexing);
        let body = schema.add_text_field("body", options.clone());
        let heading = schema.add_text_field("heading", options);
        let tokenizers = tantivy::tokenizer::TokenizerManager::new();
        tokenizers.register(TERMS, Terms);
        let mut writer = Index::builder()
            .schema(schema.build())
            .tokenizers(tokenizers)
            .single_segment_index_writer(RamDirectory::create(), MEMORY)?;
        let mut len = 0;
        for passage in passages {
            let mut document = TantivyDocument::default();
            document.add_text(body, passage.body);
            document.add_text(heading, passage.heading);
            writer.add_document(document)?;
            len += 1;
        }
        let reader = writer.finalize()?.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(PassageIndex { reader, body, heading, len })
    }

    /// The places of the passages that hold a term of the query, best first, with their scores.
    pub(super) fn search(&self, query: &str, limit: usize) -> Result<Vec<(usize, f32)>, TantivyError> {
        let terms = query_terms(query, MAX_QUERY_TERMS);
        let limit = limit.min(self.len);
        if terms.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let in_field = |field, term: &str| -> Box<dyn Query> {
            Box::new(TermQuery::new(Term::from_field_text(field, term), IndexRecordOption::WithFreqs))
        };
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::with_capacity(2 * terms.len());
        for term in &terms {
            clauses.push((Occur::Should, in_field(self.body, term)));
            let heading = BoostQuery::new(in_field(self.heading, term), HEADING_BOOST);
            clauses.push((Occur::Should, Box::new(heading)));
        }
        let best = TopDocs::with_limit(limit).order_by_score();
        let found = self.reader.searcher().search(&BooleanQuery::new(clauses), &best)?;
        // One segment: a document's number is the passage's place.
        Ok(found.into_iter().map(|(score, address)| (address.doc_id as usize, score)).collect())
    }
}
