"""What names of columns, scores and files mean: their words, and of what they are names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from mialeak._arrays import listed

__all__ = [
    "NAMES_OF_ALLELES",
    "NAMES_OF_MEASURES",
    "NAMES_OF_SITES",
    "NAMES_OF_VARIABLES",
    "VARIANT",
    "WORDS_OF_SEXES",
    "WORDS_OF_TOTALS",
    "columns_that",
    "is_body_weight",
    "is_called",
    "is_copies_name",
    "is_count_name",
    "is_count_of_persons",
    "is_date_name",
    "is_group_name",
    "is_household_name",
    "is_name_of_relatives",
    "is_number_of_examples",
    "is_period_name",
    "is_person_name",
    "is_weight",
    "word_of",
    "words_of",
]

#: Where a word begins inside another: trainLoss, LRScore.
_INNER = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
#: A sign that is written without a space before what it turns: negloss.
_SIGN = re.compile(r"(neg(?:ative)?)(?=loss|log)", re.IGNORECASE)
_PART = re.compile(r"\d+|[^\W\d_]+")
#: Names of columns that identify persons, in small letters.
_PERSON_WORDS = """
id uid uuid ssn cpr email pidp idno lopnr löpnr personnummer bsn rinpersoon hetu kennitala mrn
subjid usubjid idind pseudonym upn pseudo_id pseudo-id study_id fodselsnummer fødselsnummer fnr
iid studyid patno pat_no pat_id record_id recordid hospital_no hospital_number hosp_no chart_no
chi_number orig.ident ptid rid submitter_id case_submitter_id patient_barcode bcr_patient_barcode
tumor_sample_barcode
"""
_WHO = (
    "person|pers|patient|subject|user|customer|sample|case|client|member|participant|respondent|"
    "resp|student|pupil|employee|individual|ind|nhs|p|s|speaker|author|writer|account|annotator|"
    "worker|reviewer|player|driver|donor|animal|mouse|biosample|patienten|probanden|fall|teilnehmer"
)
_PERSON = re.compile(
    rf"#?(({_WHO})[_. -]?(id|nr|no|num|number|nummer|key)|id[_. -]({_WHO})|[ef]id|"
    rf"{'|'.join(map(re.escape, _PERSON_WORDS.split()))})"
)
#: Nouns for a person, which are also names of categories: of a subject at school, of a control.
_NOUN_WORDS = """
person patient subject participant respondent individual customer employee client pupil student
sample case member user username speaker author writer account annotator worker reviewer player
driver login email handle nickname screen_name donor mouse cid
"""
_NOUNS = frozenset(_NOUN_WORDS.split())
#: Those of devices, and of visits to a site: of few values they are kinds of devices, or waves.
_DEVICE = re.compile(
    r"(device|session|host|ip|cookie|browser|visitor)[_. -]?(id|nr|no|key|addr(ess)?)?"
)
#: Words in names of columns of other groups, whose members are different persons or samples.
_GROUP_WORDS = """
school schools class classroom grade teacher hospital clinic site centre center practice ward
department region county district state country nation city town village municipality area zip
postcode postal plz cluster psu stratum strata batch plate lane run species strain type firm company
branch store occupation job industry diagnosis icd schule klasse land kreis gemeinde bezirk kommune
"""
_GROUPS = frozenset(_GROUP_WORDS.split())

#: Names of columns of numbers of households, and of families: FID is that of PLINK.
_HOUSEHOLD = re.compile(
    r"(household|hh|hushold|hushåll|haushalts?|dwelling|family|fam|menage|h)[_. -]?"
    r"(id|nr|no|num|number|nummer)|household|hidp|serial|serialno|idmen|f\.?id"
)
#: Names of columns of other groups of persons who are drawn together: relatives, matched sets.
_DRAWN_TOGETHER = re.compile(
    r"((twin|sib|sibling|matched|match|matching|case)[_. -]?)?"
    r"(family|families|fam|pair|set|sibship|couple|dyad|trio|litter|pedigree|twins?|match)"
    r"[_. -]?(id|nr|no|num|number|nummer)?"
)
#: Fewest values of such a column that are persons, and rows of each at most.
_FEWEST_PERSONS, _ROWS_OF_PERSON = 20, 20

#: Names of columns of which each value has a table of the same persons.
_PERIOD_WORDS = """
year years ref_year survey_year time time_period period quarter wave jahr année annee år aar tid
waves month months week round visit semester term welle runde monat quartal halbjahr vague mois
trimestre semestre période periode kvartal månad måned vecka uge ola anno año mes
perioden stichtag zeit vuosi jaar peildatum berichtsjahr referenzjahr reference_date ref_date
reference_period ref_period reference_year refper periodo calendar_year census_year rok godina
imp imputation imputed implicate mi_m replicate
yr yrs fy ano anos ronda onda vlna sweep snapshot timepoint occasion
"""
_PERIODS = frozenset(_PERIOD_WORDS.split())
#: The same with a word that states of what it is a year or a wave.
_PERIOD = re.compile(
    r"(school|academic|data|survey|study|fiscal|financial|reporting|report|census|calendar|panel|"
    r"tax|schul|studien|haushalts|erhebungs|läs|skole)[_. -]?"
    r"(year|yr|wave|round|month|quarter|term|period|jahr|welle|år)s?"
    r"|(year|wave|round|sweep|time)[_. -]?(nr|no|num|number|id|code|label|point)"
)

#: Names of columns of dates and surveys: of periods if they hold a few days, years or waves.
_DATE_WORDS = """
date dates datum data dato fecha survey surveys survey_date surveydate
erhebung erhebungsdatum erhebungszeitpunkt befragung befragungsdatum umfrage enquête enquete
encuesta undersøgelse undersökning interview interview_date intdate int_date
"""
_DATES = frozenset(_DATE_WORDS.split())

#: Names of columns that state what a number counts, or in which unit it is, in small letters.
_MEASURE_WORDS = """
measure measures indicator indicators indic statistic statistics kennzahl merkmal_code uom
unit_measure measure_unit contents contentscode tabellinhold statistikvariabel unit units einheit
yksikkö enhed enhet eenheid unité unité_mesure
"""
NAMES_OF_MEASURES = frozenset(_MEASURE_WORDS.split())

#: Names of columns that list variables, each of which has a table of the same persons; and of
#: alleles, of which a person has two.
_VARIABLE_WORDS = """
variable variables characteristic characteristics question questions item items attribute
feature merkmal merkmale variabel variabler variabele variabile característica caractéristique
probe metabolite analyte
"""
_SITE_WORDS = """
snp snps snp_id snpid rsid rs_id rs marker markers variant variants variant_id locus loci gene genes
"""
NAMES_OF_SITES = frozenset(_SITE_WORDS.split())
NAMES_OF_VARIABLES = frozenset(_VARIABLE_WORDS.split()) | NAMES_OF_SITES
NAMES_OF_ALLELES = frozenset(("allele", "alleles", "haplotype", "haplotypes", "hla_allele"))

#: Names of columns of survey weights, in small letters.
_WEIGHT_WORDS = """
weight weights wgt wgts wght wghts wt wts fnlwgt finalwgt pweight perwt hhwt wtfinl asecwt pwgtp
wgtp sampling_weight sample_weight survey_weight person_weight hhweight gewicht poids pondération
ponderation peso vægt vikt vekt gewichtung hochrechnungsfaktor
wgt_pers wgt_hh gew gewichte hrf faktor hochrechnung hochfaktor expansion_factor
factor_expansion fexp ponderador weegfactor fw fweight fweights pweights aweight iweight
freq_weight frequency_weight repwt repwgt
pondera ponderacion pondfin pondih pondii pondiio ipondi fac_tri fac_men fex fex_c fact_exp
factor_exp factor fator_expansao peso_final a_fnlwgt hweight finalwt ef107 db090 pb040 pb060 rb050
rb060 v1028 v1032 waga vaha suly súly grossing_factor hochr coef_elev coefelev
iponde pesofin fatorexp pond
"""
_WEIGHTS = frozenset(_WEIGHT_WORDS.split())
#: Those that may be the weight of a body, or another factor.
_BODY_WORDS = """
weight weights wgt wgts wght wghts wt wts gewicht poids peso vægt vikt vekt gew gewichte faktor
fw
repwt factor vaha suly súly waga
"""
_BODIES = frozenset(_BODY_WORDS.split())
#: Names of the numbers of examples of clients, by which a federated average weights them.
_EXAMPLES = re.compile(
    r"(num|n|nr|no|nb|number)[_. -]?(of[_. -])?(local[_. -]|train(ing)?[_. -])?"
    r"(examples?|samples?|k)|nk|"
    r"(local[_. -])?(dataset|sample|example|shard)[_. -]?(sizes?|counts?)|"
    r"(fed(erated)?|fedavg|agg(regation)?|averaging)[_. -]?(avg[_. -]?)?weights?"
)
#: Other names of weights of a design, as in NHANES, DHS, BRFSS and ESS, or of inverse probability.
_DESIGN = re.compile(
    r"wt(mec|int)prp|wt[a-z]{2,4}\d{0,2}yr|v005|llcpwt|wtss(all|ps|nr)?|[dp]weight|(psp|an|d|p)w(ei)?ght|"
    r"(s?w_?)?ip[tc]?w|(survey|svy|samp|sampling|design|post_?strat\w*|nonresponse|calib(ration)?|raking|"
    r"population|replicate|ip[tc]?w?|ps|inverse_?prob\w*)[_. -]?(weight|wght|wgt|wt|w)s?"
)

#: Names of columns of counts, in small letters, in the languages of statistical offices.
_COUNT_WORDS = """
n count counts cnt freq freqs frequency frequencies obs nobs n_obs num_obs observations size number
num total cases persons people individuals population pop obs_value value values
antal antall anzahl häufigkeit haeufigkeit fallzahl personen effectif effectifs nombre aantal
frecuencia conteo cantidad número numero frequenza frequência frequencia contagem quantidade liczba
lukumäärä počet pocet
patients pupils students residents inhabitants einwohner fälle faelle habitants n_patients
n_pupils n_students n_cases deaths births headcount head_count admissions enrolment enrollment
n_persons n_people num_persons
len count(*) count(1) count() count_star() n_break tally row_count cell_count
"""
_COUNT_NAMES = frozenset(_COUNT_WORDS.split())

#: Those of numbers of persons: a person has no such number, but may have a count or a frequency.
_COUNT_OF_PERSONS_WORDS = """
n freq freqs cases deaths persons people individuals population pop personen fallzahl einwohner
fälle faelle habitants effectif effectifs patients pupils students residents inhabitants n_patients
n_pupils n_students n_cases ncases n_deaths ndeaths headcount head_count n_persons n_people
num_persons
"""
_COUNTS_OF_PERSONS = frozenset(_COUNT_OF_PERSONS_WORDS.split())

#: Names of columns of how often a canary was put in: words of them, letters only, and whole names.
_COPIES_WORDS = """
repetition repetitions repeat repeats reps copies duplicates duplications multiplicity insertions
occurrences ninserted timesinserted timesseen
"""
_COPIES = frozenset(_COPIES_WORDS.split())
_COPIES_NAMES = frozenset(["n", "k", "times", "count", "counts", "frequency", "freq"])

#: Values of a category that stand for the sum over all others, in small letters.
_TOTAL_WORDS = """
total,totals,all,sum,overall,subtotal,sub-total,grand total,all ages,all persons,both sexes
(all),all sexes,both genders,all categories,_t,
gesamt,insgesamt,zusammen,summe,gesamtsumme,gesamtergebnis,männer und frauen,
ensemble,total général,les deux sexes,hommes et femmes,tous,toutes,totale,totaal,totalt,
i alt,samtlige,alle,hele landet,hela landet,begge køn,begge kjønn,båda könen,summa,yhteensä,kaikki,
total general,ambos sexos,total geral,ambos os sexos,razem,ogółem,celkem,spolu,összesen,skupaj,
ukupno,toplam,genel toplam,kokku,kopā,iš viso,\u03c3\u03cd\u03bd\u03bf\u03bb\u03bf,
\u0432\u0441\u0435\u0433\u043e,\u0438\u0442\u043e\u0433\u043e,\u5408\u8a08,\u603b\u8ba1,\u7e3d\u8a08,\ud569\uacc4
"""
WORDS_OF_TOTALS = frozenset(filter(None, _TOTAL_WORDS.replace("\n", ",").split(",")))

#: Values of a category of the sex, in small letters, which are names of columns in tables by sex.
_SEX_WORDS = """
f m w v k female male females males women men woman man girls boys weiblich männlich frauen männer
femmes hommes femme homme féminin masculin mujeres hombres mujer hombre donne uomini femmine maschi
vrouwen mannen vrouw man kvinder mænd kvinne mann kvinner menn kvinnor män kvinna naiset miehet
mulheres homens kobiety mężczyźni ženy muži
"""
WORDS_OF_SEXES = frozenset(_SEX_WORDS.split())


#: Names of variants: rs numbers, or a chromosome and a position.
VARIANT = re.compile(r"(rs|ss)\d+([_:].*)?|(chr)?(\d{1,2}|x|y|mt?):\d{4,}(\D.*)?", re.IGNORECASE)


def word_of(name: Any) -> str:
    """A whole name in small letters, as sets of names have it: ".id" is "id"."""
    return str(name).strip().lower().strip("._")


def words_of(name: Any) -> list[str]:
    """The words and numbers of a name in small letters, and each two that follow each other.

    >>> words_of("trainLoss_2")
    ['train', 'loss', '2', 'trainloss', 'loss2']
    """
    text = _INNER.sub(" ", _SIGN.sub(r"\1 ", str(name)))
    words = _PART.findall(text.lower())
    return words + [first + second for first, second in pairwise(words)]


def is_called(name: Any, kind: re.Pattern[str]) -> bool:
    """Whether a word of the name, or two in turn, are of this kind."""
    return any(map(kind.fullmatch, words_of(name)))


def is_person_name(name: Any, values: int | None = None, rows: int = 0) -> bool:
    """Whether a column of so many `values` in so many `rows` has the name of one of persons.

    A noun such as "case" is one where as many values as persons have a few rows each.  Without
    `values`, whether it may be one.
    """
    word = word_of(name)
    if values is not None and values < rows and _HOUSEHOLD.fullmatch(word):
        return False  # of a family, whose members are different persons
    if values is not None and not max(_FEWEST_PERSONS, rows / _ROWS_OF_PERSON) <= values:
        return _PERSON.fullmatch(word) is not None
    kinds = _PERSON.fullmatch(word), _DEVICE.fullmatch(word)
    return word in _NOUNS or any(kind is not None for kind in kinds)


def is_household_name(name: Any, values: int | None = None, rows: int = 0) -> bool:
    """Whether it is the name of a column of numbers of households.

    "household" is one where there are so many `values` in so many `rows` as :func:`is_person_name`
    asks of nouns: fewer are kinds of households.
    """
    word = word_of(name)
    if values is not None and not max(_FEWEST_PERSONS, rows / _ROWS_OF_PERSON) <= values:
        return word != "household" and _HOUSEHOLD.fullmatch(word) is not None
    return _HOUSEHOLD.fullmatch(word) is not None


def is_name_of_relatives(name: Any) -> bool:
    """Whether `name` may be that of a column of families, pairs or matched sets."""
    return is_household_name(name) or _DRAWN_TOGETHER.fullmatch(word_of(name)) is not None


def is_group_name(name: Any) -> bool:
    """Whether a word of the name is that of a group of different persons, such as of a school."""
    return not _GROUPS.isdisjoint(words_of(name))


def columns_that(names: Sequence[Any], verb: str) -> str:
    """The columns as the subject of a verb in the singular: "Columns 'a', 'b' hold"."""
    if len(names) == 1:
        return f"Column {listed(names)} {verb}"
    return f"Columns {listed(names)} {verb.removesuffix('s')}"


def is_weight(name: Any) -> bool:
    """Whether it is the name of a column of survey weights."""
    word = word_of(name)
    is_listed = word in _WEIGHTS or word.rstrip("0123456789") in _WEIGHTS
    return is_listed or _DESIGN.fullmatch(word) is not None


def is_body_weight(name: Any) -> bool:
    """Whether such a name may as well be that of the weight of a body."""
    return word_of(name).rstrip("0123456789") in _BODIES


def is_number_of_examples(name: Any) -> bool:
    """Whether `name` is that of the weights of a federated average: numbers of examples."""
    return _EXAMPLES.fullmatch(word_of(name)) is not None


def is_count_name(name: Any) -> bool:
    """Whether a column has the name of a count."""
    return word_of(name) in _COUNT_NAMES


def is_count_of_persons(name: Any) -> bool:
    """Whether a column has the name of numbers of persons, which no person has."""
    return word_of(name) in _COUNTS_OF_PERSONS


def is_period_name(name: Any) -> bool:
    """Whether a column has the name of years or waves, in each of which a person may be."""
    word = word_of(name)
    return word in _PERIODS or _PERIOD.fullmatch(word) is not None


def is_date_name(name: Any) -> bool:
    """Whether a column has the name of dates or surveys: they are periods if they are few."""
    return word_of(name) in _DATES


def is_copies_name(name: Any) -> bool:
    """Whether a column of canaries has the name of how often each was put in."""
    return word_of(name) in _COPIES_NAMES or not _COPIES.isdisjoint(words_of(name))
